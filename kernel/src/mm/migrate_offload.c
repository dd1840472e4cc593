// SPDX-License-Identifier: GPL-2.0-only
/*
 * The slot for an engine that copies the folios of a migration batch.
 *
 * One provider at a time. A stream is inside an SRCU read-side section, so that
 * migrate_offload_unregister() returns only when the provider's code is no longer in use: a module
 * can be unloaded under load. The order there is: branch off, pointer cleared, readers waited for.
 */

#include <linux/jump_label.h>
#include <linux/migrate.h>
#include <linux/migrate_batch.h>
#include <linux/migrate_offload.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/srcu.h>
#include <linux/sysfs.h>

static DEFINE_STATIC_KEY_FALSE(migrate_offload_key);
static DEFINE_MUTEX(migrate_offload_mutex);
DEFINE_STATIC_SRCU(migrate_offload_srcu);
static struct migrate_offload_provider __rcu *migrate_offload;

/*
 * Reasons of migration that may use the engine. Left out by default: memory failure, where the
 * source is not to be read by anything that cannot survive poison, and long-term pinning and
 * contiguous allocation, which wait for each folio anyway.
 */
unsigned int migrate_offload_reasons = BIT(MR_COMPACTION) | BIT(MR_MEMORY_HOTPLUG) |
				       BIT(MR_SYSCALL) | BIT(MR_MEMPOLICY_MBIND) |
				       BIT(MR_NUMA_MISPLACED) | BIT(MR_DEMOTION) | BIT(MR_DAMON);

/**
 * migrate_offload_register() - offer an engine for the copies of page migration
 * @provider: what to call; must stay valid until migrate_offload_unregister()
 *
 * Return: 0, -EINVAL when a member is missing, -EBUSY when there is a provider already.
 */
int migrate_offload_register(struct migrate_offload_provider *provider)
{
	int ret = 0;

	if (!provider->name || !provider->nr_channels || !provider->open ||
	    !provider->submit || !provider->reap || !provider->close)
		return -EINVAL;

	mutex_lock(&migrate_offload_mutex);
	if (rcu_access_pointer(migrate_offload)) {
		ret = -EBUSY;
	} else {
		rcu_assign_pointer(migrate_offload, provider);
		static_branch_enable(&migrate_offload_key);
	}
	mutex_unlock(&migrate_offload_mutex);
	return ret;
}
EXPORT_SYMBOL_GPL(migrate_offload_register);

/**
 * migrate_offload_unregister() - withdraw an engine
 * @provider: as registered; nothing happens when it is not the current one
 *
 * Sleeps until no stream of @provider is open any more: whoever has one open finds no channels when
 * he begins his next batch, and closes it.
 */
void migrate_offload_unregister(struct migrate_offload_provider *provider)
{
	mutex_lock(&migrate_offload_mutex);
	if (rcu_access_pointer(migrate_offload) == provider) {
		static_branch_disable(&migrate_offload_key);
		RCU_INIT_POINTER(migrate_offload, NULL);
		synchronize_srcu(&migrate_offload_srcu);
	}
	mutex_unlock(&migrate_offload_mutex);
}
EXPORT_SYMBOL_GPL(migrate_offload_unregister);

/**
 * migrate_offload_channels() - channels that a batch could use now
 * @reason: enum migrate_reason of the batch
 * @dst_nid: node of the destination, or NUMA_NO_NODE
 *
 * Return: the number, 0 without a provider or when the administrator excludes @reason.
 */
unsigned int migrate_offload_channels(int reason, int dst_nid)
{
	struct migrate_offload_provider *provider;
	unsigned int nr = 0;
	int idx;

	if (!static_branch_unlikely(&migrate_offload_key) ||
	    !(READ_ONCE(migrate_offload_reasons) & BIT(reason)))
		return 0;

	idx = srcu_read_lock(&migrate_offload_srcu);
	provider = srcu_dereference(migrate_offload, &migrate_offload_srcu);
	if (provider)
		nr = provider->nr_channels(dst_nid);
	srcu_read_unlock(&migrate_offload_srcu, idx);

	return min(nr, READ_ONCE(migrate_batch_max_channels));
}

/**
 * migrate_offload_open() - begin a stream of copies
 * @offload: to fill in
 *
 * The task must not open another one before it closes this one.
 *
 * Return: whether there is a stream; if not, the copies are the CPU's.
 */
bool migrate_offload_open(struct migrate_offload *offload)
{
	offload->stream = NULL;
	offload->srcu = srcu_read_lock(&migrate_offload_srcu);
	offload->provider = srcu_dereference(migrate_offload, &migrate_offload_srcu);
	if (offload->provider)
		offload->stream = offload->provider->open();
	if (!offload->stream)
		srcu_read_unlock(&migrate_offload_srcu, offload->srcu);
	return offload->stream;
}

/**
 * migrate_offload_submit() - let the engine copy folios
 * @offload: an open stream
 * @batch: whose parameters say how many channels, and how to split large folios
 * @copies: list of struct migrate_copy, empty afterwards
 * @dst_nid: node of the destination
 */
void migrate_offload_submit(struct migrate_offload *offload, const struct migrate_batch *batch,
			    struct list_head *copies, int dst_nid)
{
	const struct migrate_batch_params *params = &batch->res.params;

	offload->provider->submit(offload->stream, copies, params->nr_channels,
				  params->segment_bytes, dst_nid);
}

/**
 * migrate_offload_reap() - take back copies that are through
 * @offload: an open stream
 * @copies: list that they are added to; look at the status of each
 * @nr: how many to wait for; fewer come only when no more were submitted
 */
void migrate_offload_reap(struct migrate_offload *offload, struct list_head *copies,
			  unsigned int nr)
{
	offload->provider->reap(offload->stream, copies, nr);
}

/**
 * migrate_offload_close() - end a stream
 * @offload: an open stream, of which all copies were reaped
 */
void migrate_offload_close(struct migrate_offload *offload)
{
	offload->provider->close(offload->stream);
	srcu_read_unlock(&migrate_offload_srcu, offload->srcu);
	offload->stream = NULL;
}

/**
 * migrate_offload_copy() - let the engine copy folios, and wait for it
 * @batch: whose parameters say how many channels, and how to split large folios
 * @items: what to copy; the status of each is set
 * @nr: number of @items, at least 1
 *
 * Sleeps until the engine is done with every item, or has been given up.
 */
void migrate_offload_copy(const struct migrate_batch *batch, struct migrate_copy *items,
			  unsigned int nr)
{
	struct migrate_offload offload;
	LIST_HEAD(copies);
	unsigned int i;

	for (i = 0; i < nr; i++) {
		items[i].status = MIGRATE_COPY_NONE;
		items[i].cause = MIGRATE_FALLBACK_PROVIDER;
		list_add_tail(&items[i].node, &copies);
	}
	if (!migrate_offload_open(&offload))
		return;
	migrate_offload_submit(&offload, batch, &copies, folio_nid(items[0].dst));
	migrate_offload_reap(&offload, &copies, nr);
	migrate_offload_close(&offload);
}

/* Name of the provider, for sysfs. */
ssize_t migrate_offload_show(char *buf)
{
	struct migrate_offload_provider *provider;
	ssize_t ret;
	int idx;

	idx = srcu_read_lock(&migrate_offload_srcu);
	provider = srcu_dereference(migrate_offload, &migrate_offload_srcu);
	ret = sysfs_emit(buf, "%s\n", provider ? provider->name : "none");
	srcu_read_unlock(&migrate_offload_srcu, idx);
	return ret;
}
