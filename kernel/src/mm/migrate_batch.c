// SPDX-License-Identifier: GPL-2.0-only
/*
 * Batches of page migration: their parameters, their measurement, their administration.
 *
 * Everything here is behind migrate_batch_key, which is off until somebody looks: a policy, a
 * tracepoint, or an administrator who changed a default. Until then mm/migrate.c does what it
 * always did.
 */

#include <linux/init.h>
#include <linux/kobject.h>
#include <linux/memcontrol.h>
#include <linux/migrate.h>
#include <linux/migrate_batch.h>
#include <linux/migrate_offload.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/sysfs.h>
#include <linux/timekeeping.h>

#define CREATE_TRACE_POINTS
#include <trace/events/migrate_batch.h>

#include "internal.h"

#define DEFAULT_PAGES		((u32)NR_MAX_BATCHED_MIGRATION)
/*
 * What a policy may ask for unless the administrator says otherwise. 16384 pages were the knee of
 * the throughput curve with 16 PTDMA channels and 2M folios; 16 is a whole socket's channels.
 */
#define DEFAULT_MAX_PAGES	16384U
#define DEFAULT_MAX_CHANNELS	16U

DEFINE_STATIC_KEY_FALSE(migrate_batch_key);

static unsigned int max_pages __read_mostly = DEFAULT_MAX_PAGES;
static unsigned int default_pages __read_mostly;
static unsigned int default_channels __read_mostly;
static unsigned int default_depth __read_mostly;
static unsigned int default_segment __read_mostly;
unsigned int migrate_batch_max_channels __read_mostly = DEFAULT_MAX_CHANNELS;

static atomic64_t last_id;

enum counter {
	COUNT_BATCHES,
	COUNT_PAGES_DMA,
	COUNT_PAGES_CPU,
	COUNT_CLAMPED,
	COUNT_EJECTED,
	COUNT_FALLBACK,
	NR_COUNTERS = COUNT_FALLBACK + NR_MIGRATE_FALLBACK,
};

static DEFINE_PER_CPU(u64[NR_COUNTERS], counters);

static void count(unsigned int counter, u64 n)
{
	this_cpu_add(counters[counter], n);
}

int migrate_batch_trace_reg(void)
{
	static_branch_inc(&migrate_batch_key);
	return 0;
}

void migrate_batch_trace_unreg(void)
{
	static_branch_dec(&migrate_batch_key);
}

/*
 * The folio is isolated, which keeps it bound to its owner; the owner may go offline meanwhile and
 * hand its folios to its parent, so that the answer is only as good as the moment.
 */
static u64 folio_owner(struct folio *folio)
{
	struct mem_cgroup *memcg = NULL;
	u64 id;

	rcu_read_lock();
	if (!mem_cgroup_disabled() && !page_has_movable_ops(&folio->page))
		memcg = folio_memcg(folio);
	id = mem_cgroup_id(memcg ? memcg : root_mem_cgroup);
	rcu_read_unlock();
	return id;
}

/* Look at the folios of one owner that wait at the head of the list, up to the largest batch. */
static void survey_list(struct migrate_survey *survey, struct list_head *from, u32 max_pages)
{
	struct folio *folio;

	survey->nr_folios = 0;
	survey->nr_pages = 0;
	survey->max_order = 0;
	survey->truncated = false;
	list_for_each_entry(folio, from, lru) {
		if (folio_test_hugetlb(folio))
			continue;
		if (!survey->nr_folios)
			survey->cgroup_id = folio_owner(folio);
		else if (folio_owner(folio) != survey->cgroup_id)
			return;
		survey->nr_folios++;
		survey->nr_pages += folio_nr_pages(folio);
		survey->max_order = max_t(u32, survey->max_order, folio_order(folio));
		if (survey->nr_pages >= max_pages) {
			survey->truncated = true;
			return;
		}
		cond_resched();
	}
}

/*
 * Folios are seen twice on average: a new survey is due when the last one is used up, or half of it
 * is and there may be more.
 */
static bool survey_update(struct migrate_survey *survey, struct list_head *from, u32 max_pages)
{
	if (!survey->nr_folios || (survey->truncated && survey->nr_pages < max_pages / 2))
		survey_list(survey, from, max_pages);
	return survey->nr_folios;
}

static int first_nid(struct list_head *from)
{
	struct folio *folio;

	list_for_each_entry(folio, from, lru)
		if (!folio_test_hugetlb(folio))
			return folio_nid(folio);
	return NUMA_NO_NODE;
}

/* The first impossible value among the parameters of a batch. */
struct verdict {
	const char *field;
	u32 value;
};

/* A value beyond @garbage is a mistake of the policy, one beyond @max only a wish too far. */
static u32 clamp_param(struct verdict *verdict, const char *field, u32 value, u32 garbage, u32 max)
{
	if (value > garbage && !verdict->field) {
		verdict->field = field;
		verdict->value = value;
	}
	if (value <= max)
		return value;
	count(COUNT_CLAMPED, 1);
	return max;
}

static void clamp_params(struct migrate_batch *batch, bool first)
{
	struct migrate_batch_params *params = &batch->res.params;
	u32 pages = batch->ctx.max_pages;
	struct verdict verdict = {};

	params->batch_pages = clamp_param(&verdict, "batch_pages", params->batch_pages,
					  MIGRATE_BATCH_PAGES_LIMIT, pages);
	params->first_pages = clamp_param(&verdict, "first_pages", params->first_pages,
					  MIGRATE_BATCH_PAGES_LIMIT, pages);
	params->nr_channels = clamp_param(&verdict, "nr_channels", params->nr_channels,
					  MIGRATE_BATCH_CHANNELS_LIMIT, batch->ctx.nr_channels);
	params->depth = clamp_param(&verdict, "depth", params->depth,
				    MIGRATE_BATCH_DEPTH_LIMIT, MIGRATE_BATCH_DEPTH_MAX);
	params->segment_bytes = clamp_param(&verdict, "segment_bytes", params->segment_bytes,
					    MIGRATE_BATCH_SEGMENT_LIMIT,
					    MIGRATE_BATCH_SEGMENT_LIMIT);
	migrate_batch_policy_judge(batch, verdict.field, verdict.value);

	if (first && params->first_pages)
		params->batch_pages = params->first_pages;
	if (!params->batch_pages)
		params->batch_pages = min(DEFAULT_PAGES, pages);
	/* What is in flight is out of reach for its owner, in however many batches. */
	params->depth = clamp(params->depth, 1, max(pages / params->batch_pages, 1));
	params->segment_bytes = PAGE_ALIGN(params->segment_bytes);
}

/**
 * migrate_batch_init() - settle the parameters of the next batch
 * @batch: to fill in
 * @survey: of this migrate_pages() call, all zero before its first batch
 * @from: the folios that wait, hugetlb folios among them are not counted
 * @mode: of the caller
 * @reason: of the caller
 * @dst_nid: node of the destination, or NUMA_NO_NODE
 *
 * Asks the policy, or takes the defaults of the administrator.
 *
 * Return: whether there is anything to make a batch of.
 */
bool migrate_batch_init(struct migrate_batch *batch, struct migrate_survey *survey,
			struct list_head *from, enum migrate_mode mode, int reason, int dst_nid)
{
	struct migrate_batch_ctx *ctx = &batch->ctx;
	bool first = !survey->started;

	memset(batch, 0, sizeof(*batch));
	ctx->max_pages = READ_ONCE(max_pages);
	if (!survey_update(survey, from, ctx->max_pages))
		return false;

	batch->id = atomic64_inc_return(&last_id);
	ctx->cgroup_id = survey->cgroup_id;
	ctx->nr_folios = survey->nr_folios;
	ctx->nr_pages = survey->nr_pages;
	ctx->max_order = survey->max_order;
	ctx->mode = mode;
	ctx->reason = reason;
	ctx->src_nid = first_nid(from);
	ctx->dst_nid = dst_nid;
	ctx->nr_channels = migrate_offload_channels(reason, dst_nid);

	batch->res.params.batch_pages = min(READ_ONCE(default_pages), ctx->max_pages);
	batch->res.params.nr_channels = min(READ_ONCE(default_channels), ctx->nr_channels);
	batch->res.params.depth = READ_ONCE(default_depth);
	batch->res.params.segment_bytes = READ_ONCE(default_segment);
	migrate_batch_policy_select(batch);
	clamp_params(batch, first);
	survey->started = true;
	return true;
}

/**
 * migrate_batch_init_retry() - books for what is tried again by itself
 * @retry: to fill in
 * @batch: the batch that left it over, may be the same as @retry
 *
 * Synchronous retries of one folio and split folios are measured, but no policy is asked and no
 * engine is used for them.
 */
void migrate_batch_init_retry(struct migrate_batch *retry, const struct migrate_batch *batch)
{
	const struct migrate_batch_ctx ctx = batch->ctx;

	memset(retry, 0, sizeof(*retry));
	retry->id = atomic64_inc_return(&last_id);
	retry->ctx = ctx;
	retry->res.params.batch_pages = DEFAULT_PAGES;
	retry->res.params.depth = 1;
	retry->retry = true;
}

/**
 * migrate_batch_take() - whether the next folio of the list may join a batch
 * @batch: the batch
 * @survey: as for migrate_batch_init(); a folio that joins is not counted any more
 * @folio: the folio
 * @nr_pages: base pages that the batch has already
 *
 * Return: whether the folio has the owner of the batch, for whom it was chosen and is accounted.
 */
bool migrate_batch_take(const struct migrate_batch *batch, struct migrate_survey *survey,
			struct folio *folio, unsigned int nr_pages)
{
	/* The owner of the first one may have changed since, but a batch must not be empty. */
	if (nr_pages && folio_owner(folio) != batch->ctx.cgroup_id) {
		survey->nr_folios = 0;
		return false;
	}
	if (survey->nr_folios)
		survey->nr_folios--;
	survey->nr_pages -= min_t(u32, survey->nr_pages, folio_nr_pages(folio));
	return true;
}

/**
 * migrate_batch_start() - start the clock of first-folio latency
 * @batch: the batch, whose folios are all mapped yet
 * @nr_succeeded: pages that the migrate_pages() call has moved so far
 * @nr_failed: pages that it has given up so far
 */
void migrate_batch_start(struct migrate_batch *batch, unsigned int nr_succeeded,
			 unsigned int nr_failed)
{
	count(COUNT_BATCHES, 1);
	batch->res.nr_moved = nr_succeeded;
	batch->res.nr_failed = nr_failed;
	trace_mm_migrate_batch_start(batch);
	batch->start_ns = ktime_get_ns();
}

/* When the unmapping of a folio begins; remembered in the folio, hence not larger than a long. */
unsigned long migrate_batch_stamp(const struct migrate_batch *batch)
{
	return ktime_get_ns() - batch->start_ns;
}

/* The last folio is unmapped. */
void migrate_batch_unmapped(struct migrate_batch *batch)
{
	batch->res.unmap_ns = ktime_get_ns() - batch->start_ns;
}

/* No TLB knows the folios any more. */
void migrate_batch_flushed(struct migrate_batch *batch)
{
	batch->res.flush_ns = ktime_get_ns() - batch->start_ns - batch->res.unmap_ns;
	trace_mm_migrate_batch_unmapped(batch);
}

/* The engine is done; @start_ns is when it was asked. */
void migrate_batch_copied(struct migrate_batch *batch, u64 start_ns)
{
	batch->res.copy_ns = ktime_get_ns() - start_ns;
	trace_mm_migrate_batch_copied(batch);
}

/* @folios are mapped again, except for NULL; the unmapping of each began at its stamp. */
void migrate_batch_restored_run(struct migrate_batch *batch, struct folio *const *folios,
				const unsigned long *stamps, unsigned int nr)
{
	u64 now = ktime_get_ns() - batch->start_ns;
	unsigned int i;

	if (!batch->res.first_ns) {
		batch->res.first_ns = max(now, 1ULL);
		trace_mm_migrate_batch_first(batch);
	}
	for (i = 0; i < nr; i++) {
		u64 blackout = now - stamps[i];

		if (!folios[i])
			continue;
		batch->res.blackout_ns = max(batch->res.blackout_ns, blackout);
		trace_mm_migrate_folio_restored(batch, folios[i], blackout);
	}
}

/* A folio is mapped again where it was; its unmapping began at @stamp. */
void migrate_batch_undone(struct migrate_batch *batch, unsigned long stamp)
{
	u64 now = ktime_get_ns() - batch->start_ns;

	batch->res.blackout_ns = max(batch->res.blackout_ns, now - stamp);
}

/**
 * migrate_batch_end() - close the books
 * @batch: the batch, of which nothing is unmapped any more
 * @nr_succeeded: as for migrate_batch_start(), now
 * @nr_failed: likewise
 */
void migrate_batch_end(struct migrate_batch *batch, unsigned int nr_succeeded,
		       unsigned int nr_failed)
{
	struct migrate_batch_result *res = &batch->res;

	res->total_ns = ktime_get_ns() - batch->start_ns;
	res->nr_moved = nr_succeeded - res->nr_moved;
	res->nr_failed = nr_failed - res->nr_failed;
	res->nr_cpu = res->nr_moved - min(res->nr_moved, res->nr_dma);
	count(COUNT_PAGES_DMA, res->nr_dma);
	count(COUNT_PAGES_CPU, res->nr_cpu);
	trace_mm_migrate_batch_end(batch);
	migrate_batch_policy_done(batch);
}

/**
 * migrate_batch_fallback() - note that the CPU must copy what an engine was asked to
 * @batch: the batch
 * @cause: why
 * @nr_pages: how much, in base pages
 */
void migrate_batch_fallback(struct migrate_batch *batch, enum migrate_fallback cause,
			    unsigned int nr_pages)
{
	if (WARN_ON_ONCE(cause >= NR_MIGRATE_FALLBACK))
		return;
	count(COUNT_FALLBACK + cause, nr_pages);
	trace_mm_migrate_copy_fallback(batch, cause, nr_pages);
}

/* A policy was ejected. */
void migrate_batch_count_ejected(void)
{
	count(COUNT_EJECTED, 1);
}

#ifdef CONFIG_SYSFS

/* Serialises writers of the settings, which decide together whether the key is held. */
static DEFINE_MUTEX(settings_mutex);

/* Settings that differ from what mm/migrate.c does by itself keep the key on. */
static void settings_changed(void)
{
	static bool held;
	bool hold = default_pages || default_channels || default_depth || default_segment ||
		    max_pages < DEFAULT_PAGES;

	if (hold == held)
		return;
	held = hold;
	if (hold)
		static_branch_inc(&migrate_batch_key);
	else
		static_branch_dec(&migrate_batch_key);
}

struct setting_attr {
	struct kobj_attribute attr;
	unsigned int *value;
	unsigned int min;
	unsigned int max;
	const char *format;
};

static ssize_t setting_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	struct setting_attr *setting = container_of(attr, struct setting_attr, attr);

	return sysfs_emit(buf, setting->format, READ_ONCE(*setting->value));
}

static ssize_t setting_store(struct kobject *kobj, struct kobj_attribute *attr, const char *buf,
			     size_t len)
{
	struct setting_attr *setting = container_of(attr, struct setting_attr, attr);
	unsigned int value;
	int ret;

	ret = kstrtouint(buf, 0, &value);
	if (ret)
		return ret;
	if (value < setting->min || value > setting->max)
		return -ERANGE;

	mutex_lock(&settings_mutex);
	WRITE_ONCE(*setting->value, value);
	settings_changed();
	mutex_unlock(&settings_mutex);
	return len;
}

#define SETTING(_name, _value, _min, _max, _format)						\
static struct setting_attr _name##_attr = {							\
	.attr = __ATTR(_name, 0644, setting_show, setting_store),				\
	.value = &(_value),									\
	.min = _min,										\
	.max = _max,										\
	.format = _format,									\
}

SETTING(max_pages, max_pages, 1, MIGRATE_BATCH_PAGES_LIMIT, "%u\n");
SETTING(max_channels, migrate_batch_max_channels, 0, MIGRATE_BATCH_CHANNELS_LIMIT, "%u\n");
SETTING(default_pages, default_pages, 0, MIGRATE_BATCH_PAGES_LIMIT, "%u\n");
SETTING(default_channels, default_channels, 0, MIGRATE_BATCH_CHANNELS_LIMIT, "%u\n");
SETTING(default_depth, default_depth, 0, MIGRATE_BATCH_DEPTH_MAX, "%u\n");
SETTING(default_segment, default_segment, 0, MIGRATE_BATCH_SEGMENT_LIMIT, "%u\n");
SETTING(reasons, migrate_offload_reasons, 0, BIT(MR_TYPES) - 1, "0x%x\n");

static ssize_t policy_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return migrate_batch_policy_show(buf);
}

static struct kobj_attribute policy_attr = __ATTR_RO(policy);

static ssize_t provider_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return migrate_offload_show(buf);
}

static struct kobj_attribute provider_attr = __ATTR_RO(provider);

static struct attribute *settings_attrs[] = {
	&max_pages_attr.attr.attr,
	&max_channels_attr.attr.attr,
	&default_pages_attr.attr.attr,
	&default_channels_attr.attr.attr,
	&default_depth_attr.attr.attr,
	&default_segment_attr.attr.attr,
	&reasons_attr.attr.attr,
	&policy_attr.attr,
	&provider_attr.attr,
	NULL
};

static const struct attribute_group settings_group = {
	.attrs = settings_attrs,
};

struct counter_attr {
	struct kobj_attribute attr;
	unsigned int counter;
};

static ssize_t counter_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	unsigned int counter = container_of(attr, struct counter_attr, attr)->counter;
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu(counters, cpu)[counter]);
	return sysfs_emit(buf, "%llu\n", sum);
}

#define COUNTER(_name, _counter)								\
static struct counter_attr _name##_attr = {							\
	.attr = __ATTR(_name, 0444, counter_show, NULL),					\
	.counter = _counter,									\
}

COUNTER(batches, COUNT_BATCHES);
COUNTER(pages_dma, COUNT_PAGES_DMA);
COUNTER(pages_cpu, COUNT_PAGES_CPU);
COUNTER(clamped, COUNT_CLAMPED);
COUNTER(ejected, COUNT_EJECTED);
COUNTER(fallback_provider, COUNT_FALLBACK + MIGRATE_FALLBACK_PROVIDER);
COUNTER(fallback_busy, COUNT_FALLBACK + MIGRATE_FALLBACK_BUSY);
COUNTER(fallback_folio, COUNT_FALLBACK + MIGRATE_FALLBACK_FOLIO);
COUNTER(fallback_nomem, COUNT_FALLBACK + MIGRATE_FALLBACK_NOMEM);
COUNTER(fallback_map, COUNT_FALLBACK + MIGRATE_FALLBACK_MAP);
COUNTER(fallback_prep, COUNT_FALLBACK + MIGRATE_FALLBACK_PREP);
COUNTER(fallback_error, COUNT_FALLBACK + MIGRATE_FALLBACK_ERROR);
COUNTER(fallback_timeout, COUNT_FALLBACK + MIGRATE_FALLBACK_TIMEOUT);

static struct attribute *counter_attrs[] = {
	&batches_attr.attr.attr,
	&pages_dma_attr.attr.attr,
	&pages_cpu_attr.attr.attr,
	&clamped_attr.attr.attr,
	&ejected_attr.attr.attr,
	&fallback_provider_attr.attr.attr,
	&fallback_busy_attr.attr.attr,
	&fallback_folio_attr.attr.attr,
	&fallback_nomem_attr.attr.attr,
	&fallback_map_attr.attr.attr,
	&fallback_prep_attr.attr.attr,
	&fallback_error_attr.attr.attr,
	&fallback_timeout_attr.attr.attr,
	NULL
};

static const struct attribute_group counter_group = {
	.name = "counters",
	.attrs = counter_attrs,
};

static const struct attribute_group *migrate_batch_groups[] = {
	&settings_group,
	&counter_group,
	NULL
};

static int __init migrate_batch_sysfs_init(void)
{
	struct kobject *kobj;
	int ret;

	kobj = kobject_create_and_add("migrate_batch", mm_kobj);
	if (!kobj)
		return -ENOMEM;
	ret = sysfs_create_groups(kobj, migrate_batch_groups);
	if (ret)
		kobject_put(kobj);
	return ret;
}
subsys_initcall(migrate_batch_sysfs_init);

#endif /* CONFIG_SYSFS */
