// SPDX-License-Identifier: GPL-2.0-only
/*
 * For tests only: a policy that does what a policy must not, by enum mb_fault in the map `fault`.
 * It starts with MB_FAULT_NONE and is armed while attached, or before by whoever loads it.
 */
#include "kernel.h"
#include "exit.h"

char _license[] SEC("license") = "GPL";

#define EPERM 1

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} fault SEC(".maps");

static __u32 calls;

static __always_inline __u32 fault_mode(void)
{
	__u32 zero = 0;
	__u32 *mode = bpf_map_lookup_elem(&fault, &zero);

	return mode ? *mode : MB_FAULT_NONE;
}

static __always_inline void set_all(struct migrate_batch_params *params, __u32 v)
{
	params->batch_pages = v;
	params->depth = v;
	params->nr_channels = v;
	params->segment_bytes = v;
	params->first_pages = v;
}

static __always_inline void set_random(struct migrate_batch_params *params)
{
	params->batch_pages = bpf_get_prandom_u32();
	params->depth = bpf_get_prandom_u32();
	params->nr_channels = bpf_get_prandom_u32();
	params->segment_bytes = bpf_get_prandom_u32();
	params->first_pages = bpf_get_prandom_u32();
}

static __always_inline void set_limits(struct migrate_batch_params *params)
{
	params->batch_pages = MIGRATE_BATCH_PAGES_LIMIT;
	params->depth = MIGRATE_BATCH_DEPTH_LIMIT;
	params->nr_channels = MIGRATE_BATCH_CHANNELS_LIMIT;
	params->segment_bytes = MIGRATE_BATCH_SEGMENT_LIMIT;
	params->first_pages = MIGRATE_BATCH_PAGES_LIMIT;
}

SEC("struct_ops/select")
void BPF_PROG(fault_select, const struct migrate_batch_ctx *batch,
	      struct migrate_batch_params *params)
{
	switch (fault_mode()) {
	case MB_FAULT_ZERO:
		set_all(params, 0);
		break;
	case MB_FAULT_ONES:
		set_all(params, ~0U);
		break;
	case MB_FAULT_RANDOM:
		set_random(params);
		break;
	case MB_FAULT_LIMIT:
		set_limits(params);
		break;
	case MB_FAULT_NOW_AND_THEN:
		if (!(__sync_fetch_and_add(&calls, 1) % 8))
			set_all(params, ~0U);
		break;
	}
}

SEC("struct_ops/init")
s32 BPF_PROG(fault_init)
{
	exit_clear();
	return fault_mode() == MB_FAULT_INIT ? -EPERM : 0;
}

SEC("struct_ops/exit")
void BPF_PROG(fault_exit, const struct migrate_batch_exit_info *info)
{
	exit_record(info);
}

SEC(".struct_ops.link")
struct migrate_batch_ops policy_fault = {
	.select = (void *)fault_select,
	.init = (void *)fault_init,
	.exit = (void *)fault_exit,
	.name = "policy_fault",
};
