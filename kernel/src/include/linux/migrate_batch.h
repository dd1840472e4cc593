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

void migrate_batch_init(struct migrate_batch *batch, struct list_head *from, bool first,
			enum migrate_mode mode, int reason, int dst_nid);
void migrate_batch_init_retry(struct migrate_batch *retry, const struct migrate_batch *batch);
bool migrate_batch_owns(const struct migrate_batch *batch, struct folio *folio);

void migrate_batch_start(struct migrate_batch *batch, unsigned int nr_succeeded,
			 unsigned int nr_failed);
unsigned long migrate_batch_stamp(const struct migrate_batch *batch);
void migrate_batch_unmapped(struct migrate_batch *batch);
void migrate_batch_flushed(struct migrate_batch *batch);
void migrate_batch_copied(struct migrate_batch *batch, u64 start_ns);
void migrate_batch_restored(struct migrate_batch *batch, struct folio *folio, unsigned long stamp);
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
static inline void migrate_batch_init(struct migrate_batch *batch, struct list_head *from,
				      bool first, enum migrate_mode mode, int reason,
				      int dst_nid) { }
static inline void migrate_batch_init_retry(struct migrate_batch *retry,
					    const struct migrate_batch *batch) { }
static inline bool migrate_batch_owns(const struct migrate_batch *batch, struct folio *folio)
{
	return true;
}

static inline void migrate_batch_start(struct migrate_batch *batch, unsigned int nr_succeeded,
				       unsigned int nr_failed) { }
static inline unsigned long migrate_batch_stamp(const struct migrate_batch *batch) { return 0; }
static inline void migrate_batch_unmapped(struct migrate_batch *batch) { }
static inline void migrate_batch_flushed(struct migrate_batch *batch) { }
static inline void migrate_batch_copied(struct migrate_batch *batch, u64 start_ns) { }
static inline void migrate_batch_restored(struct migrate_batch *batch, struct folio *folio,
					  unsigned long stamp) { }
static inline void migrate_batch_end(struct migrate_batch *batch, unsigned int nr_succeeded,
				     unsigned int nr_failed) { }
static inline void migrate_batch_fallback(struct migrate_batch *batch, enum migrate_fallback cause,
					  unsigned int nr_pages) { }

#endif /* CONFIG_MIGRATE_BATCH */

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
