/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Small helpers of migbatchd and migbatchctl. Functions return 0 or a negative errno. */
#ifndef MIGBATCH_UTIL_H
#define MIGBATCH_UTIL_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define NSEC_PER_USEC 1000ULL
#define NSEC_PER_MSEC 1000000ULL
#define NSEC_PER_SEC 1000000000ULL

static inline void mb_freep(void *p)
{
	free(*(void **)p);
}

static inline void mb_closep(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

#define _cleanup_free_ __attribute__((cleanup(mb_freep)))
#define _cleanup_close_ __attribute__((cleanup(mb_closep)))

static inline uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* CLOCK_MONOTONIC, the clock that the kernel's and the BPF programs' times are on. */
uint64_t now_ns(void);

/* malloc'd, NULL without memory */
char *str_printf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
char *path_join(const char *root, const char *path);

/* Reads a small file (sysfs, state) whole, without its last newline. */
int file_read(const char *path, char **text);
int file_read_u64(const char *path, uint64_t *value);

/* Replaces a file in one step, so that a reader never sees half of it. */
int file_write_atomic(const char *path, const char *text);

/* Decimal number without sign, the whole string. */
int parse_u32(const char *text, uint32_t *value);

/* A time with its unit ("500us", "1.5ms", "2s"); a number without unit is -EINVAL. */
int parse_time(const char *text, uint64_t *ns);

/* The shortest exact text of a time, in the units of parse_time(). */
#define TIME_TEXT_MAX 32
char *format_time(char *buf, uint64_t ns);

#endif /* MIGBATCH_UTIL_H */
