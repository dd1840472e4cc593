/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Stands in for the kernel's and the C library's <linux/types.h>, so that the kernel headers made
 * for BPF and <linux/bpf.h> both find their types, and no built kernel is needed to compile.
 */
#ifndef _LINUX_TYPES_H
#define _LINUX_TYPES_H

typedef signed char __s8;
typedef unsigned char __u8;
typedef short __s16;
typedef unsigned short __u16;
typedef int __s32;
typedef unsigned int __u32;
typedef long long __s64;
typedef unsigned long long __u64;

typedef __u16 __be16;
typedef __u32 __be32;
typedef __u64 __be64;
typedef __u16 __le16;
typedef __u32 __le32;
typedef __u64 __le64;
typedef __u32 __wsum;

typedef __s8 s8;
typedef __u8 u8;
typedef __s16 s16;
typedef __u16 u16;
typedef __s32 s32;
typedef __u32 u32;
typedef __s64 s64;
typedef __u64 u64;

typedef _Bool bool;

#define __aligned_u64 __u64 __attribute__((aligned(8)))

#endif /* _LINUX_TYPES_H */
