// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measures what page migration costs whom, into the maps `hist` and `counts` (abi.h).
 *
 * Two sets of programs, of which a loader takes one: batch_* on a kernel with the tracepoints of
 * batches, plain_* on any other since 6.12. The plain ones are off unless switched on, so that a
 * loader which knows nothing of this takes the batch_* ones.
 */
#include "kernel.h"

char _license[] SEC("license") = "GPL";

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, struct mb_hist_key);
	__type(value, struct mb_hist);
} hist SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 16384);
	__type(key, struct mb_counts_key);
	__type(value, struct mb_counts);
} counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} lost SEC(".maps");

static const struct mb_hist no_hist;
static const struct mb_counts no_counts;

static __always_inline void count_lost(void)
{
	__u32 zero = 0;
	__u64 *n = bpf_map_lookup_elem(&lost, &zero);

	if (n)
		__sync_fetch_and_add(n, 1);
}

/*
 * Values are per CPU, but a program may be preempted by one on the same CPU that counts for the
 * same cgroup: sums must be true, hence atomic, which costs little without contention.
 */
static __always_inline void add(__u64 *to, __u64 n)
{
	__sync_fetch_and_add(to, n);
}

static __always_inline void raise(__u64 *to, __u64 v)
{
	__u64 old = *to;
	int i;

	/* Each failure means that somebody else has raised it on this CPU just now. */
	for (i = 0; i < 4 && old < v; i++) {
		__u64 seen = __sync_val_compare_and_swap(to, old, v);

		if (seen == old)
			break;
		old = seen;
	}
}

static __always_inline __u32 slot_of(__u64 v)
{
	__u32 i = 0;

	if (v >> 32) {
		i += 32;
		v >>= 32;
	}
	if (v >> 16) {
		i += 16;
		v >>= 16;
	}
	if (v >> 8) {
		i += 8;
		v >>= 8;
	}
	if (v >> 4) {
		i += 4;
		v >>= 4;
	}
	if (v >> 2) {
		i += 2;
		v >>= 2;
	}
	i += v >> 1;
	return i < MB_HIST_SLOTS ? i : MB_HIST_SLOTS - 1;
}

static __always_inline struct mb_hist *hist_of(const struct mb_hist_key *key)
{
	struct mb_hist *h = bpf_map_lookup_elem(&hist, key);

	if (h)
		return h;
	/* It fails when another CPU was first, which is as good. */
	bpf_map_update_elem(&hist, key, &no_hist, BPF_NOEXIST);
	return bpf_map_lookup_elem(&hist, key);
}

static __always_inline void observe(__u64 cgroup_id, __u32 reason, __u32 metric, __u64 ns)
{
	struct mb_hist_key key = {
		.cgroup_id = cgroup_id,
		.reason = reason,
		.metric = metric,
	};
	struct mb_hist *h = hist_of(&key);
	__u32 slot = slot_of(ns);

	if (!h) {
		count_lost();
		return;
	}
	/* The verifier does not see that this cannot be. */
	if (slot >= MB_HIST_SLOTS)
		return;
	add(&h->slots[slot], 1);
	add(&h->count, 1);
	add(&h->sum_ns, ns);
	raise(&h->max_ns, ns);
}

static __always_inline struct mb_counts *counts_of(__u64 cgroup_id, __u32 reason)
{
	struct mb_counts_key key = {
		.cgroup_id = cgroup_id,
		.reason = reason,
	};
	struct mb_counts *c = bpf_map_lookup_elem(&counts, &key);

	if (c)
		return c;
	bpf_map_update_elem(&counts, &key, &no_counts, BPF_NOEXIST);
	c = bpf_map_lookup_elem(&counts, &key);
	if (!c)
		count_lost();
	return c;
}

/* A kernel with the tracepoints of batches. */

static __always_inline void observe_phases(__u64 cgroup_id, __u32 reason,
					   const struct migrate_batch_result *res)
{
	/* None of its folios came back. */
	if (res->first_ns)
		observe(cgroup_id, reason, MB_FIRST, res->first_ns);
	observe(cgroup_id, reason, MB_UNMAP, res->unmap_ns);
	observe(cgroup_id, reason, MB_FLUSH, res->flush_ns);
	if (res->params.nr_channels)
		observe(cgroup_id, reason, MB_COPY, res->copy_ns);
	observe(cgroup_id, reason, MB_TOTAL, res->total_ns);
}

static __always_inline void count_batch(struct mb_counts *c, const struct migrate_batch *batch)
{
	const struct migrate_batch_result *res = &batch->res;

	add(&c->moved_pages, res->nr_moved);
	add(&c->failed_pages, res->nr_failed);
	add(&c->dma_pages, res->nr_dma);
	add(&c->cpu_pages, res->nr_cpu);
	add(&c->errors, res->nr_errors);
	if (batch->retry) {
		add(&c->retries, 1);
		return;
	}
	add(&c->batches, 1);
	c->last_batch_pages = res->params.batch_pages;
	c->last_channels = res->params.nr_channels;
	c->last_depth = res->params.depth;
	c->last_when_ns = bpf_ktime_get_ns();
}

SEC("tp_btf/mm_migrate_batch_end")
int BPF_PROG(batch_end, const struct migrate_batch *batch)
{
	__u64 cgroup_id = batch->ctx.cgroup_id;
	__u32 reason = batch->ctx.reason;
	struct mb_counts *c = counts_of(cgroup_id, reason);

	if (c)
		count_batch(c, batch);
	/* Retries of one folio are nothing that a policy decides: they would blur the picture. */
	if (!batch->retry)
		observe_phases(cgroup_id, reason, &batch->res);
	return 0;
}

SEC("tp_btf/mm_migrate_folio_restored")
int BPF_PROG(batch_folio_restored, const struct migrate_batch *batch, struct folio *folio,
	     __u64 blackout_ns)
{
	observe(batch->ctx.cgroup_id, batch->ctx.reason, MB_BLACKOUT, blackout_ns);
	return 0;
}

SEC("tp_btf/mm_migrate_copy_fallback")
int BPF_PROG(batch_copy_fallback, const struct migrate_batch *batch, __u32 cause, __u32 nr_pages)
{
	struct mb_counts *c = counts_of(batch->ctx.cgroup_id, batch->ctx.reason);

	if (c)
		add(&c->fallback_pages, nr_pages);
	return 0;
}

SEC("tp_btf/mm_migration_entry_wait")
int BPF_PROG(batch_entry_wait, __u64 wait_ns)
{
	observe(bpf_get_current_cgroup_id(), 0, MB_WAIT, wait_ns);
	return 0;
}

/*
 * Any other kernel: batches are read off the order of events within a task's migrate_pages().
 * Migration entries that are set, then removed, are a batch; the next one that is set begins
 * another. It began a little before: where the list begins for the first batch of a list, else
 * where the last folio of the batch before came back.
 */
struct plain_task {
	__u64 start_ns;		/* of the batch; 0 outside of migrate_pages() */
	__u64 first_ns;		/* when its first folio came back; 0 before */
	__u64 last_ns;		/* when its latest one did */
	__u32 reason;
	__u32 set;		/* an entry was set */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct plain_task);
} plain SEC(".maps");

static __always_inline struct plain_task *plain_task(__u64 flags)
{
	return bpf_task_storage_get(&plain, bpf_get_current_task_btf(), NULL, flags);
}

/* The batch is over; what was set and came back makes it one. */
static __always_inline void plain_account(const struct plain_task *t)
{
	__u64 cgroup_id = bpf_get_current_cgroup_id();
	struct mb_counts *c;

	if (!t->first_ns)
		return;
	observe(cgroup_id, t->reason, MB_FIRST, t->first_ns - t->start_ns);
	observe(cgroup_id, t->reason, MB_TOTAL, t->last_ns - t->start_ns);
	c = counts_of(cgroup_id, t->reason);
	if (c)
		add(&c->batches, 1);
}

static __always_inline int plain_set(void)
{
	struct plain_task *t = plain_task(0);

	/* Entries are also set to split a folio, outside of any migration. */
	if (!t || !t->start_ns)
		return 0;
	if (t->first_ns) {
		plain_account(t);
		t->start_ns = t->last_ns;
		t->first_ns = 0;
	}
	t->set = 1;
	return 0;
}

static __always_inline int plain_remove(void)
{
	struct plain_task *t = plain_task(0);

	if (!t || !t->start_ns || !t->set)
		return 0;
	t->last_ns = bpf_ktime_get_ns();
	if (!t->first_ns)
		t->first_ns = t->last_ns;
	return 0;
}

SEC("?tp_btf/mm_migrate_pages_start")
int BPF_PROG(plain_start, int mode, int reason)
{
	struct plain_task *t = plain_task(BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!t) {
		count_lost();
		return 0;
	}
	t->first_ns = 0;
	t->set = 0;
	t->reason = reason;
	t->start_ns = bpf_ktime_get_ns();
	return 0;
}

SEC("?tp_btf/mm_migrate_pages")
int BPF_PROG(plain_end, unsigned long succeeded, unsigned long failed)
{
	struct plain_task *t = plain_task(0);
	struct mb_counts *c;

	if (!t || !t->start_ns)
		return 0;
	plain_account(t);
	c = counts_of(bpf_get_current_cgroup_id(), t->reason);
	if (c) {
		add(&c->moved_pages, succeeded);
		add(&c->failed_pages, failed);
	}
	t->start_ns = 0;
	return 0;
}

SEC("?tp_btf/set_migration_pte")
int BPF_PROG(plain_set_pte)
{
	return plain_set();
}

SEC("?tp_btf/remove_migration_pte")
int BPF_PROG(plain_remove_pte)
{
	return plain_remove();
}

/* Only where the kernel can migrate huge pages as such: a loader may do without these two. */

SEC("?tp_btf/set_migration_pmd")
int BPF_PROG(plain_set_pmd)
{
	return plain_set();
}

SEC("?tp_btf/remove_migration_pmd")
int BPF_PROG(plain_remove_pmd)
{
	return plain_remove();
}
