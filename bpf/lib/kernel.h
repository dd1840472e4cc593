/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's types, as far as programs here read them. libbpf moves every access to where the
 * running kernel has the field, so order and completeness do not matter.
 */
#ifndef MIGBATCH_BPF_KERNEL_H
#define MIGBATCH_BPF_KERNEL_H

#include <linux/types.h>
#include <linux/bpf.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 4, 0)
/* Missing in the user space headers of Debian 12; bpf_for() needs it. */
struct bpf_iter_num {
	__u64 opaque[1];
} __attribute__((aligned(8)));
#endif

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#define true 1
#define false 0
#define NULL ((void *)0)

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

#include <linux/migrate_batch_types.h>

struct kernfs_node {
	u64 id;
};

struct cgroup {
	int level;
	struct kernfs_node *kn;
};

struct folio;
struct task_struct;

#pragma clang attribute pop

#include <migbatch/abi.h>

#endif /* MIGBATCH_BPF_KERNEL_H */
