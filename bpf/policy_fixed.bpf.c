// SPDX-License-Identifier: GPL-2.0-only
/*
 * The same parameters for every batch, from the map `fixed`. All zero, as it starts, is the
 * kernel's default.
 */
#include "kernel.h"
#include "exit.h"

char _license[] SEC("license") = "GPL";

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct mb_params);
} fixed SEC(".maps");

SEC("struct_ops/select")
void BPF_PROG(fixed_select, const struct migrate_batch_ctx *batch,
	      struct migrate_batch_params *params)
{
	__u32 zero = 0;
	const struct mb_params *p = bpf_map_lookup_elem(&fixed, &zero);

	if (!p)
		return;
	params->batch_pages = p->batch_pages;
	params->depth = p->depth;
	params->nr_channels = p->nr_channels;
	params->segment_bytes = p->segment_bytes;
	params->first_pages = p->first_pages;
}

SEC("struct_ops/init")
s32 BPF_PROG(fixed_init)
{
	exit_clear();
	return 0;
}

SEC("struct_ops/exit")
void BPF_PROG(fixed_exit, const struct migrate_batch_exit_info *info)
{
	exit_record(info);
}

SEC(".struct_ops.link")
struct migrate_batch_ops policy_fixed = {
	.select = (void *)fixed_select,
	.init = (void *)fixed_init,
	.exit = (void *)fixed_exit,
	.name = "policy_fixed",
};
