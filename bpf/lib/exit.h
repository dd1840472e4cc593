/* SPDX-License-Identifier: GPL-2.0-only */
/* How a policy ended, kept in its map `last_exit` for whoever asks. */
#ifndef MIGBATCH_BPF_EXIT_H
#define MIGBATCH_BPF_EXIT_H

#include "kernel.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct mb_exit);
} last_exit SEC(".maps");

static __always_inline void exit_record(const struct migrate_batch_exit_info *info)
{
	__u32 zero = 0;
	struct mb_exit *e = bpf_map_lookup_elem(&last_exit, &zero);

	if (!e)
		return;
	e->when_ns = bpf_ktime_get_ns();
	e->code = info->code;
	bpf_core_read(e->msg, sizeof(e->msg), &info->msg);
	/* A reader who sees the kind sees the rest. */
	__sync_lock_test_and_set(&e->kind, info->kind);
}

/* A policy that is attached again starts with a clean slate. */
static __always_inline void exit_clear(void)
{
	__u32 zero = 0;
	struct mb_exit *e = bpf_map_lookup_elem(&last_exit, &zero);

	if (e)
		__builtin_memset(e, 0, sizeof(*e));
}

#endif /* MIGBATCH_BPF_EXIT_H */
