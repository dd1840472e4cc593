/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a policy of migration batches sees: nothing but types, so that a BPF program can include it
 * as it stands.
 */
#ifndef _LINUX_MIGRATE_BATCH_TYPES_H
#define _LINUX_MIGRATE_BATCH_TYPES_H

#include <linux/types.h>

/*
 * Beyond these a value can only be a mistake: such a value is counted against the policy that gave
 * it. 262144 pages are 1 GiB of 4K pages, the largest batch that was ever measured.
 */
#define MIGRATE_BATCH_PAGES_LIMIT	262144U
#define MIGRATE_BATCH_CHANNELS_LIMIT	256U
#define MIGRATE_BATCH_DEPTH_LIMIT	64U
#define MIGRATE_BATCH_SEGMENT_LIMIT	0x40000000U

/**
 * struct migrate_batch_ctx - what is known of a batch before it starts
 * @cgroup_id: cgroup v2 id of the memcg that owns every folio of the batch; the root's when the
 *	folios are not charged
 * @nr_folios: folios of this owner that wait at the head of the list, as far as they were counted:
 *	at least half of @max_pages if there are more
 * @nr_pages: the same in base pages
 * @max_order: largest order among them
 * @mode: enum migrate_mode of the caller
 * @reason: enum migrate_reason of the caller
 * @src_nid: node of the first folio
 * @dst_nid: node that the caller asked for, or NUMA_NO_NODE (-1) when it has no single one
 * @nr_channels: DMA channels that this batch may use, 0 without a provider or when @reason is
 *	not in the mask of reasons
 * @max_pages: limit of batch_pages, as set by the administrator
 */
struct migrate_batch_ctx {
	u64 cgroup_id;
	u32 nr_folios;
	u32 nr_pages;
	u32 max_order;
	u32 mode;
	u32 reason;
	s32 src_nid;
	s32 dst_nid;
	u32 nr_channels;
	u32 max_pages;
};

/**
 * struct migrate_batch_params - how a batch is to be done
 * @batch_pages: base pages unmapped per TLB flush; 0 is the kernel default (those of a PMD: 512 on
 *	x86). The folio that crosses the limit still belongs to the batch. Clamped to
 *	ctx->max_pages.
 * @depth: batches in flight. 0 and 1 copy a whole batch before any folio of it is mapped back. From
 *	2 on they are streamed: while one batch is copied the next is unmapped, and each folio is
 *	mapped back as soon as its own copy is complete. Clamped to 16, and so that
 *	@depth * @batch_pages does not exceed ctx->max_pages. Means nothing without channels.
 * @nr_channels: DMA channels; 0 copies by CPU. Clamped to ctx->nr_channels.
 * @segment_bytes: a larger folio is split over the channels in descriptors of this size, rounded up
 *	to whole pages; 0 is one descriptor a folio
 * @first_pages: base pages of the first batch of a migrate_pages() call; 0 is @batch_pages
 */
struct migrate_batch_params {
	u32 batch_pages;
	u32 depth;
	u32 nr_channels;
	u32 segment_bytes;
	u32 first_pages;
};

/**
 * struct migrate_batch_result - what a batch did and what it cost
 * @params: the parameters used, after clamping
 * @unmap_ns: from the start of the batch until its last folio was unmapped
 * @flush_ns: the TLB flush
 * @copy_ns: the wait for the copy engine; 0 when no channel was used
 * @first_ns: from the start of the batch until its first folio was mapped back; 0 if none was
 * @total_ns: the whole batch
 * @blackout_ns: longest time that one folio of the batch was not mapped, whether it moved or not
 * @nr_moved: base pages migrated
 * @nr_failed: base pages that did not migrate in this batch
 * @nr_dma: base pages whose content a channel copied
 * @nr_cpu: base pages whose content the CPU copied, or that needed no copy
 * @nr_errors: descriptors that the engine failed
 */
struct migrate_batch_result {
	struct migrate_batch_params params;
	u64 unmap_ns;
	u64 flush_ns;
	u64 copy_ns;
	u64 first_ns;
	u64 total_ns;
	u64 blackout_ns;
	u32 nr_moved;
	u32 nr_failed;
	u32 nr_dma;
	u32 nr_cpu;
	u32 nr_errors;
};

/**
 * enum migrate_batch_exit_kind - why a policy was let go
 * @MIGRATE_BATCH_EXIT_NONE: it was not
 * @MIGRATE_BATCH_EXIT_UNREG: its link was dropped
 * @MIGRATE_BATCH_EXIT_UPDATE: another policy took its place in the same link
 * @MIGRATE_BATCH_EXIT_INVALID: it kept giving impossible values, and was ejected
 *
 * Kinds below 64 are clean, below 1024 asked for by a user, the rest errors.
 */
enum migrate_batch_exit_kind {
	MIGRATE_BATCH_EXIT_NONE = 0,
	MIGRATE_BATCH_EXIT_UNREG = 64,
	MIGRATE_BATCH_EXIT_UPDATE = 65,
	MIGRATE_BATCH_EXIT_INVALID = 1024,
};

/**
 * struct migrate_batch_exit_info - handed to the exit() of a policy
 * @code: error number or the offending value, by @kind
 * @msg: the same in words
 * @kind: enum migrate_batch_exit_kind; written last, so that a reader who sees it sees the rest
 */
struct migrate_batch_exit_info {
	s64 code;
	char msg[64];
	u32 kind;
};

#define MIGRATE_BATCH_OPS_NAME_LEN 32

/**
 * struct migrate_batch_ops - a policy, implemented in BPF
 * @select: called once before each batch with @params holding the kernel's defaults; sets what it
 *	wants changed. Optional. Must not sleep.
 * @done: called once after each batch for which @select was called, unless the policy was swapped
 *	in between. Optional. Must not sleep.
 * @init: called before the policy is attached; an error refuses the attachment. Optional.
 * @exit: called after the last @select and @done have returned. Optional.
 * @cgroup_id: reserved for the attachment to a part of the cgroup tree, must be 0
 * @flags: reserved, must be 0
 * @name: name of the policy, required
 *
 * There is one policy at a time. This interface is unstable: it may change or go with any kernel
 * version. Synchronous retries of single folios, split folios and hugetlb do not consult it.
 */
struct migrate_batch_ops {
	void (*select)(const struct migrate_batch_ctx *ctx, struct migrate_batch_params *params);
	void (*done)(const struct migrate_batch_ctx *ctx, const struct migrate_batch_result *res);
	s32 (*init)(void);
	void (*exit)(const struct migrate_batch_exit_info *info);
	u64 cgroup_id;
	u64 flags;
	char name[MIGRATE_BATCH_OPS_NAME_LEN];
};

/**
 * enum migrate_fallback - why a folio was copied by CPU although channels were asked for
 * @MIGRATE_FALLBACK_PROVIDER: no provider was enabled any more
 * @MIGRATE_FALLBACK_BUSY: all channels were in use by others
 * @MIGRATE_FALLBACK_FOLIO: the folio cannot be copied ahead (own migrate_folio, extra references)
 * @MIGRATE_FALLBACK_NOMEM: no memory for the bookkeeping
 * @MIGRATE_FALLBACK_MAP: DMA mapping failed
 * @MIGRATE_FALLBACK_PREP: the engine took no descriptor
 * @MIGRATE_FALLBACK_ERROR: the engine failed the descriptor
 * @MIGRATE_FALLBACK_TIMEOUT: the engine did not answer; the folio was not migrated at all
 */
enum migrate_fallback {
	MIGRATE_FALLBACK_PROVIDER,
	MIGRATE_FALLBACK_BUSY,
	MIGRATE_FALLBACK_FOLIO,
	MIGRATE_FALLBACK_NOMEM,
	MIGRATE_FALLBACK_MAP,
	MIGRATE_FALLBACK_PREP,
	MIGRATE_FALLBACK_ERROR,
	MIGRATE_FALLBACK_TIMEOUT,
	NR_MIGRATE_FALLBACK,
};

/**
 * struct migrate_batch - one call of migrate_pages_batch() while somebody looks
 * @id: number of the batch since boot, never 0
 * @ctx: see there
 * @res: see there; res.params are the parameters in force
 * @start_ns: when migrate_pages_batch() was entered, on the monotonic clock
 * @policy_seq: which attachment of a policy chose the parameters, 0 if none
 * @retry: a synchronous retry or a split folio: no policy, no copy engine
 */
struct migrate_batch {
	u64 id;
	struct migrate_batch_ctx ctx;
	struct migrate_batch_result res;
	u64 start_ns;
	u64 policy_seq;
	bool retry;
};

#endif /* _LINUX_MIGRATE_BATCH_TYPES_H */
