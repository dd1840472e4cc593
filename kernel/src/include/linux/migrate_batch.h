/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Batches of page migration: who picks their size and engine, and what they cost.
 *
 * See Documentation/admin-guide/mm/migrate_batch.rst.
 */
#ifndef _LINUX_MIGRATE_BATCH_H
#define _LINUX_MIGRATE_BATCH_H

#include <linux/jump_label.h>
#include <linux/list.h>
#include <linux/migrate_batch_types.h>
#include <linux/migrate_mode.h>
#include <linux/sysfs.h>

struct folio;

/*
 * Batches in flight at once. Two keep an engine busy whose batches take longer than the CPU needs
 * for one; more help where batches are small. All slots are allocated together.
 */
#define MIGRATE_BATCH_DEPTH_MAX	16U

/**
 * struct migrate_survey - what a migrate_pages() call knows of the folios that wait
 * @cgroup_id: owner of the folios at the head of the list
 * @nr_folios: folios of that owner that were seen and are still on the list; 0 if unknown
 * @nr_pages: the same in base pages
 * @max_order: largest order among those seen
 * @truncated: there may be more of them
 * @started: there was a batch before in this call
 *
 * Kept from batch to batch: a walk through the list for each batch would cost more than the batch.
 */
struct migrate_survey {
	u64 cgroup_id;
	u32 nr_folios;
	u32 nr_pages;
	u32 max_order;
	bool truncated;
	bool started;
};

#ifdef CONFIG_MIGRATE_BATCH

/* Most channels that a batch may use, as set by the administrator. */
extern unsigned int migrate_batch_max_channels;

DECLARE_STATIC_KEY_FALSE(migrate_batch_key);

/**
 * migrate_batch_enabled() - whether anybody looks at batches
 *
 * Return: true while a policy is attached, a tracepoint is on or a default is changed.
 */
static inline bool migrate_batch_enabled(void)
{
	return static_branch_unlikely(&migrate_batch_key);
}

bool migrate_batch_init(struct migrate_batch *batch, struct migrate_survey *survey,
			struct list_head *from, enum migrate_mode mode, int reason, int dst_nid);
void migrate_batch_init_retry(struct migrate_batch *retry, const struct migrate_batch *batch);
bool migrate_batch_take(const struct migrate_batch *batch, struct migrate_survey *survey,
			struct folio *folio, unsigned int nr_pages);

void migrate_batch_start(struct migrate_batch *batch, unsigned int nr_succeeded,
			 unsigned int nr_failed);
unsigned long migrate_batch_stamp(const struct migrate_batch *batch);
void migrate_batch_unmapped(struct migrate_batch *batch);
void migrate_batch_flushed(struct migrate_batch *batch);
void migrate_batch_copied(struct migrate_batch *batch, u64 start_ns);
void migrate_batch_restored_run(struct migrate_batch *batch, struct folio *const *folios,
				const unsigned long *stamps, unsigned int nr);
void migrate_batch_undone(struct migrate_batch *batch, unsigned long stamp);
void migrate_batch_end(struct migrate_batch *batch, unsigned int nr_succeeded,
		       unsigned int nr_failed);
void migrate_batch_fallback(struct migrate_batch *batch, enum migrate_fallback cause,
			    unsigned int nr_pages);

void migrate_batch_count_ejected(void);

/* For TRACE_EVENT_FN(): a tracepoint that is switched on keeps the books of batches open. */
int migrate_batch_trace_reg(void);
void migrate_batch_trace_unreg(void);

#else

static inline bool migrate_batch_enabled(void) { return false; }
static inline bool migrate_batch_init(struct migrate_batch *batch, struct migrate_survey *survey,
				      struct list_head *from, enum migrate_mode mode, int reason,
				      int dst_nid)
{
	return false;
}

static inline void migrate_batch_init_retry(struct migrate_batch *retry,
					    const struct migrate_batch *batch) { }
static inline bool migrate_batch_take(const struct migrate_batch *batch,
				      struct migrate_survey *survey, struct folio *folio,
				      unsigned int nr_pages)
{
	return true;
}

static inline void migrate_batch_start(struct migrate_batch *batch, unsigned int nr_succeeded,
				       unsigned int nr_failed) { }
static inline unsigned long migrate_batch_stamp(const struct migrate_batch *batch) { return 0; }
static inline void migrate_batch_unmapped(struct migrate_batch *batch) { }
static inline void migrate_batch_flushed(struct migrate_batch *batch) { }
static inline void migrate_batch_copied(struct migrate_batch *batch, u64 start_ns) { }
static inline void migrate_batch_restored_run(struct migrate_batch *batch,
					      struct folio *const *folios,
					      const unsigned long *stamps, unsigned int nr) { }
static inline void migrate_batch_undone(struct migrate_batch *batch, unsigned long stamp) { }
static inline void migrate_batch_end(struct migrate_batch *batch, unsigned int nr_succeeded,
				     unsigned int nr_failed) { }
static inline void migrate_batch_fallback(struct migrate_batch *batch, enum migrate_fallback cause,
					  unsigned int nr_pages) { }

#endif /* CONFIG_MIGRATE_BATCH */

/* @folio is mapped again; its unmapping began at @stamp. */
static inline void migrate_batch_restored(struct migrate_batch *batch, struct folio *folio,
					  unsigned long stamp)
{
	migrate_batch_restored_run(batch, &folio, &stamp, 1);
}

#ifdef CONFIG_MIGRATE_BATCH_BPF
void migrate_batch_policy_select(struct migrate_batch *batch);
void migrate_batch_policy_done(const struct migrate_batch *batch);
void migrate_batch_policy_judge(const struct migrate_batch *batch, const char *field, u32 value);
ssize_t migrate_batch_policy_show(char *buf);
#else
static inline void migrate_batch_policy_select(struct migrate_batch *batch) { }
static inline void migrate_batch_policy_done(const struct migrate_batch *batch) { }
static inline void migrate_batch_policy_judge(const struct migrate_batch *batch,
					      const char *field, u32 value) { }
static inline ssize_t migrate_batch_policy_show(char *buf)
{
	return sysfs_emit(buf, "none\n");
}
#endif /* CONFIG_MIGRATE_BATCH_BPF */

#endif /* _LINUX_MIGRATE_BATCH_H */
