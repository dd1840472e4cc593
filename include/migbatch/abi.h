/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The ABI between BPF programs, daemon and tests: keys and values of the maps pinned under
 * MB_PIN_DIR. Fixed widths, no padding, times in nanoseconds unless a name says otherwise.
 * Include <linux/types.h> or define __u64 and the like before.
 */
#ifndef MIGBATCH_ABI_H
#define MIGBATCH_ABI_H

#define MB_PIN_DIR "/sys/fs/bpf/migbatch"

/*
 * Map `targets` of policy_target: hash, cgroup id (__u64) -> struct mb_target. A batch must stay
 * below the target of its owner's cgroup or, without an entry there, of the nearest ancestor that
 * has one; an ancestor with a tighter target bounds all below it. So the strictest target from the
 * cgroup up to the root is in force, and mb_control.default_target_ns when none of them has an
 * entry. Without a bound the batch has the kernel's default size, which is bounded too: a target
 * that no batch reaches, 10 s say, asks for the largest batches that the ceilings allow.
 */
struct mb_target {
	__u64 target_ns;	/* first-folio delay; 0: no bound, not even the default */
	__u32 pct_milli;	/* share of batches that must, in 1/1000 percent (99% is 99000) */
	__u32 scale_milli;	/* slow loop's correction of the target; 0, 1000: none */
};

/*
 * Map `control` of policy_target: array of one. All zero, as without a daemon, means: no default
 * target, default margin.
 */
struct mb_control {
	__u64 heartbeat_ns;	/* CLOCK_MONOTONIC of the daemon's last round, 0: never */
	__u64 default_target_ns;/* for cgroups without a target anywhere above; 0: no bound */
	__u32 max_pages;	/* ceiling of batch_pages below the kernel's own; 0: none */
	__u32 max_channels;	/* ceiling of nr_channels below the kernel's own; 0: none */
};

/* The daemon's corrections (scale_milli) count for nothing once its heartbeat is older. */
#define MB_HEARTBEAT_STALE_NS 10000000000ULL

/*
 * Map `fixed` of policy_fixed: array of one. Fields as in struct migrate_batch_params of the
 * kernel; all zero is the kernel's default.
 */
struct mb_params {
	__u32 batch_pages;
	__u32 depth;
	__u32 nr_channels;
	__u32 segment_bytes;
	__u32 first_pages;
	__u32 pad;
};

/* Share of the target in 1/1000 that the slow loop may choose, whatever it asks for. */
#define MB_SCALE_MIN 100
#define MB_SCALE_MAX 2000

/* Map `decisions` of policy_target: LRU hash, cgroup id -> the last decision for it. */
struct mb_decision {
	__u64 when_ns;		/* CLOCK_MONOTONIC */
	__u64 target_ns;	/* effective target, 0: none */
	__u64 target_cgroup;	/* whose target that is, 0: the default */
	__u64 predicted_ns;	/* first-folio delay that the model expects */
	__u64 first_ns;		/* what the last finished batch had */
	__u64 samples;		/* batches finished so far */
	__u64 misses;		/* of these, over the target */
	__u32 batch_pages;
	__u32 nr_channels;
	__u32 depth;
	__u32 limit;		/* enum mb_limit: what kept batch_pages from being larger */
};

enum mb_limit {
	MB_LIMIT_NONE,		/* nothing: all that waited went into the batch */
	MB_LIMIT_TARGET,	/* the target */
	MB_LIMIT_MAX_PAGES,	/* a ceiling: the kernel's, the daemon's, 512 for the CPU */
	MB_LIMIT_UNKNOWN,	/* nothing learned yet: the safe first batch */
	MB_LIMIT_ONE_FOLIO,	/* even one folio is expected to miss: no smaller batch exists */
};

/*
 * Map `model` of policy_target: hash, struct mb_model_key -> struct mb_model, the learned cost
 * of batches. include/migbatch/law.h works on it.
 */
struct mb_model_key {
	__s32 src_nid;
	__s32 dst_nid;		/* -1: no single one */
	__u32 order;		/* largest order among the folios that wait, at most MB_ORDER_MAX */
	__u32 channels;		/* channels there are, rounded up to a power of two; 0: none */
};

#define MB_ORDER_MAX 10

/* Upper envelope of a cost over the last one or two windows. */
struct mb_peak {
	__u32 top;		/* largest and second largest of this window */
	__u32 second;
	__u32 prev;		/* what the window before gave */
};

/* What batches of 2^(i-1) < pages <= 2^i cost, for rung i. */
struct mb_rung {
	struct mb_peak fixed;	/* ns of first-folio delay that do not grow with the batch */
	struct mb_peak page;	/* ns of first-folio delay per page, in 1/256 */
	__u32 whole;		/* mean ns of the whole batch per page, in 1/256 */
	__u32 samples;		/* in this window; 0: hearsay from above, if anything */
	__u32 last;		/* mb_engine.samples at the last one */
};

/* Up to 2^18 pages, 1 GiB of 4K pages: the kernel accepts no larger batch. */
#define MB_RUNGS 19

struct mb_engine {
	struct mb_rung rungs[MB_RUNGS];
	__u32 top_pages;	/* largest batch seen */
	__u32 samples;		/* batches seen */
};

enum mb_engine_id {
	MB_CPU,
	MB_DMA,
	MB_NR_ENGINES,
};

struct mb_model {
#ifdef __bpf__
	struct bpf_spin_lock lock;
#else
	__u32 lock;		/* read with BPF_F_LOCK to see whole samples only */
#endif
	__u32 turn;		/* batches chosen so far */
	struct mb_engine engine[MB_NR_ENGINES];
};

/*
 * Map `last_exit` of every policy: array of one, why the kernel let the policy go. Fields as in
 * struct migrate_batch_exit_info of the kernel.
 */
struct mb_exit {
	__u64 when_ns;		/* CLOCK_MONOTONIC */
	__s64 code;
	char msg[64];
	__u32 kind;		/* written last; 0: it was not let go */
	__u32 pad;
};

/* Map `fault` of policy_fault: array of one __u32, enum mb_fault. */
enum mb_fault {
	MB_FAULT_NONE,		/* leaves all values alone */
	MB_FAULT_ZERO,		/* all values 0 */
	MB_FAULT_ONES,		/* all bits 1: impossible values */
	MB_FAULT_RANDOM,	/* random values, most of them impossible */
	MB_FAULT_LIMIT,		/* largest values that the kernel takes for meant */
	MB_FAULT_NOW_AND_THEN,	/* impossible values in every eighth batch */
	MB_FAULT_INIT,		/* init() refuses the attachment with -EPERM */
};

/* Metrics of map `hist` of observe. */
enum mb_metric {
	MB_FIRST,		/* first-folio delay of a batch */
	MB_BLACKOUT,		/* blackout of a folio */
	MB_UNMAP,		/* phases of a batch */
	MB_FLUSH,
	MB_COPY,
	MB_TOTAL,
	MB_WAIT,		/* a task's wait on a migration entry, by that task's cgroup */
	MB_NR_METRICS,
};

/* Map `hist` of observe: per-CPU hash. Sum over CPUs to read it. */
struct mb_hist_key {
	__u64 cgroup_id;
	__u32 reason;		/* enum migrate_reason; 0 for MB_WAIT */
	__u32 metric;		/* enum mb_metric */
};

#define MB_HIST_SLOTS 40

struct mb_hist {
	/* slot i counts values of [2^i, 2^(i+1)) ns, slot 0 also 0, the last also all larger */
	__u64 slots[MB_HIST_SLOTS];
	__u64 count;
	__u64 sum_ns;
	__u64 max_ns;
};

/*
 * Map `lost` of observe: array of one __u64, values that were not counted because `hist` or
 * `counts` is full. Whoever reads the maps deletes the entries of cgroups that are gone.
 */

/*
 * Map `counts` of observe: per-CPU hash. The three last_ fields are the last batch's on that CPU;
 * last_when_ns tells which CPU's are the newest.
 */
struct mb_counts_key {
	__u64 cgroup_id;
	__u32 reason;
	__u32 pad;
};

struct mb_counts {
	__u64 batches;
	__u64 retries;		/* batches that were retries of single folios, not in `batches` */
	__u64 moved_pages;
	__u64 failed_pages;
	__u64 dma_pages;
	__u64 cpu_pages;
	__u64 errors;		/* descriptors that the engine failed */
	__u64 fallback_pages;
	__u64 last_batch_pages;	/* limit of the last batch */
	__u64 last_channels;
	__u64 last_depth;
	__u64 last_when_ns;	/* CLOCK_MONOTONIC */
};

/*
 * Map `plain` of observe is its own: what a task's migration is at, on a kernel without the
 * tracepoints of batches. There a batch's owner is the cgroup of the task that migrates, not of
 * the memory; MB_FIRST and MB_TOTAL alone are measured, and of mb_counts only batches (retries
 * among them), moved_pages and failed_pages.
 */

#endif /* MIGBATCH_ABI_H */
