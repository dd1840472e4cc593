/* SPDX-License-Identifier: GPL-2.0-only */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM migrate_batch

#if !defined(_TRACE_MIGRATE_BATCH_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_MIGRATE_BATCH_H

#include <linux/migrate_batch.h>
#include <linux/mm.h>
#include <linux/tracepoint.h>

/*
 * Times are nanoseconds. A BPF program of type tp_btf reads all of struct migrate_batch.
 */

/* A batch starts: its owner, what waits, and the parameters in force. */
TRACE_EVENT_FN(mm_migrate_batch_start,

	TP_PROTO(const struct migrate_batch *batch),

	TP_ARGS(batch),

	TP_STRUCT__entry(
		__field(u64, id)
		__field(u64, cgroup_id)
		__field(u32, reason)
		__field(int, src_nid)
		__field(int, dst_nid)
		__field(u32, nr_folios)
		__field(u32, nr_pages)
		__field(u32, max_order)
		__field(u32, batch_pages)
		__field(u32, nr_channels)
		__field(bool, retry)
	),

	TP_fast_assign(
		__entry->id = batch->id;
		__entry->cgroup_id = batch->ctx.cgroup_id;
		__entry->reason = batch->ctx.reason;
		__entry->src_nid = batch->ctx.src_nid;
		__entry->dst_nid = batch->ctx.dst_nid;
		__entry->nr_folios = batch->ctx.nr_folios;
		__entry->nr_pages = batch->ctx.nr_pages;
		__entry->max_order = batch->ctx.max_order;
		__entry->batch_pages = batch->res.params.batch_pages;
		__entry->nr_channels = batch->res.params.nr_channels;
		__entry->retry = batch->retry;
	),

	TP_printk("id=%llu cgroup=%llu reason=%u nid=%d->%d waiting=%u/%u order<=%u batch_pages=%u channels=%u retry=%d",
		  __entry->id, __entry->cgroup_id, __entry->reason, __entry->src_nid,
		  __entry->dst_nid, __entry->nr_folios, __entry->nr_pages, __entry->max_order,
		  __entry->batch_pages, __entry->nr_channels, __entry->retry),

	migrate_batch_trace_reg, migrate_batch_trace_unreg
);

/* All folios of the batch are unmapped and the TLBs are flushed. */
TRACE_EVENT_FN(mm_migrate_batch_unmapped,

	TP_PROTO(const struct migrate_batch *batch),

	TP_ARGS(batch),

	TP_STRUCT__entry(
		__field(u64, id)
		__field(u64, unmap_ns)
		__field(u64, flush_ns)
	),

	TP_fast_assign(
		__entry->id = batch->id;
		__entry->unmap_ns = batch->res.unmap_ns;
		__entry->flush_ns = batch->res.flush_ns;
	),

	TP_printk("id=%llu unmap_ns=%llu flush_ns=%llu",
		  __entry->id, __entry->unmap_ns, __entry->flush_ns),

	migrate_batch_trace_reg, migrate_batch_trace_unreg
);

/* The copy engine has done what it could; not emitted when no channel was used. */
TRACE_EVENT_FN(mm_migrate_batch_copied,

	TP_PROTO(const struct migrate_batch *batch),

	TP_ARGS(batch),

	TP_STRUCT__entry(
		__field(u64, id)
		__field(u64, copy_ns)
		__field(u32, nr_dma)
		__field(u32, nr_errors)
	),

	TP_fast_assign(
		__entry->id = batch->id;
		__entry->copy_ns = batch->res.copy_ns;
		__entry->nr_dma = batch->res.nr_dma;
		__entry->nr_errors = batch->res.nr_errors;
	),

	TP_printk("id=%llu copy_ns=%llu dma_pages=%u errors=%u",
		  __entry->id, __entry->copy_ns, __entry->nr_dma, __entry->nr_errors),

	migrate_batch_trace_reg, migrate_batch_trace_unreg
);

/* Right after remove_migration_ptes() of the first folio of the batch. */
TRACE_EVENT_FN(mm_migrate_batch_first,

	TP_PROTO(const struct migrate_batch *batch),

	TP_ARGS(batch),

	TP_STRUCT__entry(
		__field(u64, id)
		__field(u64, cgroup_id)
		__field(u32, reason)
		__field(u64, first_ns)
	),

	TP_fast_assign(
		__entry->id = batch->id;
		__entry->cgroup_id = batch->ctx.cgroup_id;
		__entry->reason = batch->ctx.reason;
		__entry->first_ns = batch->res.first_ns;
	),

	TP_printk("id=%llu cgroup=%llu reason=%u first_ns=%llu",
		  __entry->id, __entry->cgroup_id, __entry->reason, __entry->first_ns),

	migrate_batch_trace_reg, migrate_batch_trace_unreg
);

/* The batch is over: what it did and what it cost. */
TRACE_EVENT_FN(mm_migrate_batch_end,

	TP_PROTO(const struct migrate_batch *batch),

	TP_ARGS(batch),

	TP_STRUCT__entry(
		__field(u64, id)
		__field(u64, cgroup_id)
		__field(u32, reason)
		__field(u64, first_ns)
		__field(u64, total_ns)
		__field(u64, blackout_ns)
		__field(u32, nr_moved)
		__field(u32, nr_failed)
		__field(u32, nr_dma)
		__field(u32, nr_cpu)
		__field(u32, nr_errors)
	),

	TP_fast_assign(
		__entry->id = batch->id;
		__entry->cgroup_id = batch->ctx.cgroup_id;
		__entry->reason = batch->ctx.reason;
		__entry->first_ns = batch->res.first_ns;
		__entry->total_ns = batch->res.total_ns;
		__entry->blackout_ns = batch->res.blackout_ns;
		__entry->nr_moved = batch->res.nr_moved;
		__entry->nr_failed = batch->res.nr_failed;
		__entry->nr_dma = batch->res.nr_dma;
		__entry->nr_cpu = batch->res.nr_cpu;
		__entry->nr_errors = batch->res.nr_errors;
	),

	TP_printk("id=%llu cgroup=%llu reason=%u first_ns=%llu total_ns=%llu blackout_ns=%llu moved=%u failed=%u dma=%u cpu=%u errors=%u",
		  __entry->id, __entry->cgroup_id, __entry->reason, __entry->first_ns,
		  __entry->total_ns, __entry->blackout_ns, __entry->nr_moved,
		  __entry->nr_failed, __entry->nr_dma, __entry->nr_cpu, __entry->nr_errors),

	migrate_batch_trace_reg, migrate_batch_trace_unreg
);

/* A folio is mapped again after blackout_ns in which it was not. */
TRACE_EVENT_FN(mm_migrate_folio_restored,

	TP_PROTO(const struct migrate_batch *batch, struct folio *folio, u64 blackout_ns),

	TP_ARGS(batch, folio, blackout_ns),

	TP_STRUCT__entry(
		__field(u64, id)
		__field(u64, cgroup_id)
		__field(unsigned long, pfn)
		__field(unsigned int, order)
		__field(u64, blackout_ns)
	),

	TP_fast_assign(
		__entry->id = batch->id;
		__entry->cgroup_id = batch->ctx.cgroup_id;
		__entry->pfn = folio_pfn(folio);
		__entry->order = folio_order(folio);
		__entry->blackout_ns = blackout_ns;
	),

	TP_printk("id=%llu cgroup=%llu pfn=0x%lx order=%u blackout_ns=%llu",
		  __entry->id, __entry->cgroup_id, __entry->pfn, __entry->order,
		  __entry->blackout_ns),

	migrate_batch_trace_reg, migrate_batch_trace_unreg
);

/* Pages for which channels were asked for are left to the CPU: cause is enum migrate_fallback. */
TRACE_EVENT_FN(mm_migrate_copy_fallback,

	TP_PROTO(const struct migrate_batch *batch, u32 cause, u32 nr_pages),

	TP_ARGS(batch, cause, nr_pages),

	TP_STRUCT__entry(
		__field(u64, id)
		__field(u32, cause)
		__field(u32, nr_pages)
	),

	TP_fast_assign(
		__entry->id = batch->id;
		__entry->cause = cause;
		__entry->nr_pages = nr_pages;
	),

	TP_printk("id=%llu cause=%u pages=%u", __entry->id, __entry->cause, __entry->nr_pages),

	migrate_batch_trace_reg, migrate_batch_trace_unreg
);

/* Victim side: current waited wait_ns for a folio under migration, in a fault at its address. */
TRACE_EVENT(mm_migration_entry_wait,

	TP_PROTO(u64 wait_ns),

	TP_ARGS(wait_ns),

	TP_STRUCT__entry(
		__field(u64, wait_ns)
	),

	TP_fast_assign(
		__entry->wait_ns = wait_ns;
	),

	TP_printk("wait_ns=%llu", __entry->wait_ns)
);

#endif /* _TRACE_MIGRATE_BATCH_H */

#include <trace/define_trace.h>
