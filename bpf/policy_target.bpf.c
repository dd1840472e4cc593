// SPDX-License-Identifier: GPL-2.0-only
/*
 * Keeps the first-folio delay of each batch under the target of the cgroup that owns its folios,
 * with the largest batch and the engine that this allows. The law is in include/migbatch/law.h,
 * the maps in include/migbatch/abi.h. Needs no daemon: that only writes `targets` and `control`.
 */
#include "kernel.h"
#include "exit.h"
#include <migbatch/law.h>

char _license[] SEC("license") = "GPL";

/* A tree deeper than this is bounded by the targets of the nearest ancestors only. */
#define LEVELS_MAX 32

struct cgroup *bpf_cgroup_from_id(u64 id) __ksym;
struct cgroup *bpf_cgroup_ancestor(struct cgroup *cgroup, int level) __ksym;
void bpf_cgroup_release(struct cgroup *cgroup) __ksym;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 16384);
	__type(key, __u64);
	__type(value, struct mb_target);
} targets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct mb_control);
} control SEC(".maps");

/*
 * 64 directions of 11 orders and a few numbers of channels, at 2 KB each that is used. Not LRU,
 * which takes no spin lock.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 4096);
	__type(key, struct mb_model_key);
	__type(value, struct mb_model);
} model SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, __u64);
	__type(value, struct mb_decision);
} decisions SEC(".maps");

static const struct mb_model no_model;
static const struct mb_decision no_decision;

/* The strictest target found so far, and whose. */
struct found {
	__u64 target_ns;
	__u64 cgroup_id;
	__u32 scale_milli;
	__u32 nr;		/* entries seen */
};

/* Global, as is whatever loops below, for the verifier's sake: see law.h. */
MB_LAW int take_target(struct found *found MB_ARG, __u64 id)
{
	const struct mb_target *t = bpf_map_lookup_elem(&targets, &id);
	__u64 target;

	if (!t)
		return 0;
	target = t->target_ns;
	found->nr++;
	if (!target || (found->target_ns && found->target_ns <= target))
		return 0;
	found->target_ns = target;
	found->cgroup_id = id;
	found->scale_milli = t->scale_milli;
	return 0;
}

MB_LAW int take_ancestors(struct found *found MB_ARG, __u64 id)
{
	struct cgroup *cgroup = bpf_cgroup_from_id(id);
	int level, i;

	if (!cgroup)
		return 0;
	level = cgroup->level;
	bpf_for(i, 1, LEVELS_MAX + 1) {
		struct cgroup *up;

		if (i > level)
			break;
		up = bpf_cgroup_ancestor(cgroup, level - i);
		if (!up)
			break;
		take_target(found, up->kn->id);
		bpf_cgroup_release(up);
	}
	bpf_cgroup_release(cgroup);
	return 0;
}

/* See struct mb_target for what is in force. */
static __always_inline void find_target(struct found *found, __u64 id,
					const struct mb_control *c, __u64 now)
{
	take_target(found, id);
	take_ancestors(found, id);
	if (!found->nr)
		found->target_ns = c->default_target_ns;
	if (!c->heartbeat_ns || now - c->heartbeat_ns > MB_HEARTBEAT_STALE_NS)
		found->scale_milli = 0;
}

static __always_inline void model_key(struct mb_model_key *key,
				      const struct migrate_batch_ctx *batch)
{
	key->src_nid = batch->src_nid;
	key->dst_nid = batch->dst_nid;
	key->order = mb_order_class(batch->max_order);
	key->channels = mb_channels_class(batch->nr_channels);
}

static __always_inline struct mb_model *model_of(const struct migrate_batch_ctx *batch)
{
	struct mb_model_key key = {};
	struct mb_model *m;

	model_key(&key, batch);
	m = bpf_map_lookup_elem(&model, &key);
	if (m)
		return m;
	/* It fails when another CPU was first, which is as good. */
	bpf_map_update_elem(&model, &key, &no_model, BPF_NOEXIST);
	return bpf_map_lookup_elem(&model, &key);
}

static __always_inline struct mb_decision *decision_of(__u64 id)
{
	struct mb_decision *d = bpf_map_lookup_elem(&decisions, &id);

	if (d)
		return d;
	bpf_map_update_elem(&decisions, &id, &no_decision, BPF_NOEXIST);
	return bpf_map_lookup_elem(&decisions, &id);
}

static __always_inline __u32 ceiling(__u32 kernel, __u32 daemon)
{
	return daemon && daemon < kernel ? daemon : kernel;
}

static __always_inline void note_decision(__u64 id, const struct found *found,
					  const struct mb_choice *c, __u64 now)
{
	struct mb_decision *d = decision_of(id);

	if (!d)
		return;
	d->when_ns = now;
	d->target_ns = found->target_ns;
	d->target_cgroup = found->cgroup_id;
	d->predicted_ns = c->predicted_ns;
	d->batch_pages = c->batch_pages;
	d->nr_channels = c->nr_channels;
	d->depth = 1;
	d->limit = c->limit;
}

SEC("struct_ops/select")
void BPF_PROG(target_select, const struct migrate_batch_ctx *batch,
	      struct migrate_batch_params *params)
{
	__u64 now = bpf_ktime_get_ns();
	__u64 id = batch->cgroup_id;
	struct mb_choice choice = {};
	struct found found = {};
	struct mb_want want = {};
	struct mb_control *c;
	struct mb_model *m;
	__u32 zero = 0;

	c = bpf_map_lookup_elem(&control, &zero);
	m = model_of(batch);
	if (!c || !m)
		return;
	find_target(&found, id, c, now);

	want.target_ns = found.target_ns;
	want.scale_milli = found.scale_milli;
	want.nr_folios = batch->nr_folios;
	want.nr_pages = batch->nr_pages;
	want.max_order = batch->max_order;
	want.nr_channels = ceiling(batch->nr_channels, c->max_channels);
	want.max_pages = ceiling(batch->max_pages, c->max_pages);
	want.turn = __sync_fetch_and_add(&m->turn, 1);
	mb_choose(m, &want, &choice);

	params->batch_pages = choice.batch_pages;
	params->nr_channels = choice.nr_channels;
	params->depth = 1;
	params->segment_bytes = 0;
	params->first_pages = 0;
	note_decision(id, &found, &choice, now);
}

static __always_inline void note_result(__u64 id, __u64 first_ns)
{
	struct mb_decision *d = bpf_map_lookup_elem(&decisions, &id);

	if (!d || !first_ns)
		return;
	d->first_ns = first_ns;
	__sync_fetch_and_add(&d->samples, 1);
	if (d->target_ns && first_ns > d->target_ns)
		__sync_fetch_and_add(&d->misses, 1);
}

SEC("struct_ops/done")
void BPF_PROG(target_done, const struct migrate_batch_ctx *batch,
	      const struct migrate_batch_result *res)
{
	struct mb_model *m = model_of(batch);
	struct mb_sample s = {
		.first_ns = res->first_ns,
		.growing_ns = res->unmap_ns + res->copy_ns,
		.total_ns = res->total_ns,
		.nr_moved = res->nr_moved,
		.nr_failed = res->nr_failed,
	};
	__u32 dma = res->params.nr_channels != 0;

	note_result(batch->cgroup_id, s.first_ns);
	if (!m)
		return;
	bpf_spin_lock(&m->lock);
	mb_learn(&m->engine[dma ? MB_DMA : MB_CPU], &s);
	bpf_spin_unlock(&m->lock);
}

SEC("struct_ops/init")
s32 BPF_PROG(target_init)
{
	exit_clear();
	return 0;
}

SEC("struct_ops/exit")
void BPF_PROG(target_exit, const struct migrate_batch_exit_info *info)
{
	exit_record(info);
}

SEC(".struct_ops.link")
struct migrate_batch_ops policy_target = {
	.select = (void *)target_select,
	.done = (void *)target_done,
	.init = (void *)target_init,
	.exit = (void *)target_exit,
	.name = "policy_target",
};
