// SPDX-License-Identifier: GPL-2.0-only
/*
 * DMA engines copy the folios of a migration batch.
 *
 * Any engine that offers DMA_MEMCPY will do. Channels are claimed when the provider is enabled and
 * kept until it is disabled, so that a batch only has to pick from those that are idle.
 *
 * A folio goes to one channel. It is DMA-mapped on its own for the device of that channel, handed
 * to the engine as one descriptor (more if the engine refuses that length), and every descriptor
 * has its own callback with its own result: engines may finish out of order.
 *
 * What the engine may still write to is never let go. A channel that does not answer in time is
 * dead for good, and whatever it had in flight is lost: the folios keep a reference and their
 * mapping until the late callback proves that the engine is through with them. Terminating the
 * channel would be no proof: drivers drop their descriptors then, but not all of them stop the
 * hardware. While a copy is lost the channel stays claimed and this module stays loaded: unloading
 * it is refused, or waits if it had already begun when the time ran out.
 *
 * Locks, outer to inner:
 *	dcbm_mutex	enabling, disabling, and the list of all channels
 *	dcbm_idle_lock	list of idle channels
 *	channel->lock	what the callback shares with the submitter; taken in hard interrupts
 * No lock is held while the engine's driver is called: it may run the callback at once.
 *
 * The engine's driver cannot be unloaded while channels are claimed. Unbinding its device by hand
 * is not refused by the driver core: disable this provider first.
 *
 * See Documentation/admin-guide/mm/migrate_batch.rst.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/completion.h>
#include <linux/dma-mapping.h>
#include <linux/dmaengine.h>
#include <linux/jiffies.h>
#include <linux/kobject.h>
#include <linux/list.h>
#include <linux/migrate_batch_types.h>
#include <linux/migrate_offload.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/nodemask.h>
#include <linux/rcupdate.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/sysfs.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

/*
 * Descriptors in flight per channel. Some engines hang when their ring overflows, and the smallest
 * rings in use hold 32; half of that is enough to keep an engine busy while the submitter wakes up.
 */
#define DCBM_DEPTH	16
/* The submitter is woken to send more when this many are left. */
#define DCBM_REFILL	(DCBM_DEPTH / 2)

/*
 * Length of a descriptor. There is no way to ask an engine for its limit: the maximum segment size
 * of its device is about scatterlists, and 64K for every PCI device that does not care. So the
 * first try is the whole folio, and an idle channel that refuses is asked for half of it, down to
 * a length that every engine takes.
 */
#define DCBM_MAX_LEN	SZ_1G
#define DCBM_MIN_LEN	SZ_64K

/*
 * A channel is given one more millisecond for each 64K that it has in flight: 64 MB/s, a thirtieth
 * of the slowest channel that was ever measured.
 */
#define DCBM_BYTES_PER_MS_SHIFT	16

static unsigned int max_channels = 16;
module_param(max_channels, uint, 0644);
MODULE_PARM_DESC(max_channels, "channels to claim when enabled (default 16)");

/*
 * The largest copy that is ever in flight takes milliseconds on a healthy channel. One second is
 * far beyond every delay that a loaded machine may add to its interrupt, and still short enough
 * for the task that waits.
 */
static unsigned int timeout_ms = 1000;
module_param(timeout_ms, uint, 0644);
MODULE_PARM_DESC(timeout_ms,
		 "ms without an answer after which a channel is given up, plus 1 ms per 64K in flight (default 1000)");

static bool enable;
module_param(enable, bool, 0444);
MODULE_PARM_DESC(enable, "claim channels when loaded (default no; later: /sys/kernel/dcbm/enabled)");

struct dcbm_channel;

/**
 * struct dcbm_job - one folio on its way through a channel
 * @channel: the channel that the job is a slot of
 * @item: the submitter's request; NULL once the submitter has given the job up as lost
 * @src: source folio; NULL when the slot is free
 * @dst: destination folio
 * @src_addr: where the device sees @src
 * @dst_addr: where the device sees @dst
 * @sent: bytes handed to the engine so far
 * @pending: descriptors in flight; under the channel's lock
 * @open: the submitter has yet to send the rest; under the channel's lock
 * @failed: the engine failed a descriptor; under the channel's lock
 */
struct dcbm_job {
	struct dcbm_channel *channel;
	struct migrate_copy *item;
	struct folio *src;
	struct folio *dst;
	dma_addr_t src_addr;
	dma_addr_t dst_addr;
	size_t sent;
	unsigned int pending;
	bool open;
	bool failed;
};

/**
 * struct dcbm_channel - a claimed channel
 * @node: in dcbm_channels
 * @link: in dcbm_idle, or in the run that uses the channel; in neither once the channel is dead
 * @chan: the engine's channel
 * @dev: device that does the DMA
 * @nid: node of the device, or NUMA_NO_NODE
 * @cookie: the descriptor sent last
 * @max_len: longest descriptor that the engine takes, as far as is known
 * @partial: job with bytes left to send; the submitter's own
 * @mute: completions come by polling only, so that it is given no more; the submitter's own
 * @used: slots in use; the submitter's own
 * @bytes: of the jobs in the slots; written by the submitter only
 * @copied: base pages copied since the channel was claimed
 * @errors: descriptors that the engine failed
 * @lock: protects the rest
 * @run: the copy() call that uses the channel
 * @in_flight: descriptors in flight
 * @done: slots whose job is complete and waits for the submitter
 * @deadline: jiffies by which the next descriptor must be complete
 * @dead: not used any more: did not answer in time, or only when polled
 * @lost: jobs that were in flight then and have not been released since
 * @pinned: the lost jobs hold this module
 * @release_work: releases lost jobs after their late callback
 * @jobs: slots, so that nothing is allocated on the way
 */
struct dcbm_channel {
	struct list_head node;
	struct list_head link;
	struct dma_chan *chan;
	struct device *dev;
	int nid;
	dma_cookie_t cookie;
	size_t max_len;
	struct dcbm_job *partial;
	bool mute;
	unsigned int used;
	size_t bytes;
	unsigned long copied;
	unsigned long errors;

	spinlock_t lock; /* see above */
	struct dcbm_run *run;
	unsigned int in_flight;
	unsigned long done;
	unsigned long deadline;
	bool dead;
	unsigned int lost;
	bool pinned;
	struct work_struct release_work;
	struct dcbm_job jobs[DCBM_DEPTH];
};

/**
 * struct dcbm_run - one call of copy()
 * @channels: those in use
 * @items: what to copy
 * @nr: number of @items
 * @next: first of @items that no channel has been given
 * @more: something is left to send
 * @busy: channels that have descriptors in flight
 * @progress: completed when the submitter has something to do
 */
struct dcbm_run {
	struct list_head channels;
	struct migrate_copy *items;
	unsigned int nr;
	unsigned int next;
	bool more;
	atomic_t busy;
	struct completion progress;
};

static DEFINE_MUTEX(dcbm_mutex);
static LIST_HEAD(dcbm_channels);	/* all claimed channels, under dcbm_mutex */
static bool dcbm_enabled;		/* under dcbm_mutex */

static DEFINE_SPINLOCK(dcbm_idle_lock);
static LIST_HEAD(dcbm_idle);		/* least recently used first, under dcbm_idle_lock */

static atomic_t dcbm_nr_usable = ATOMIC_INIT(0);
static atomic_t dcbm_nr_losing = ATOMIC_INIT(0);	/* channels with lost jobs */
static DECLARE_WAIT_QUEUE_HEAD(dcbm_answered);		/* woken when there is one less */
static struct kobject *dcbm_kobj;

/* Starts afresh the time that the channel has for its next completion. */
static void dcbm_set_deadline(struct dcbm_channel *channel)
{
	unsigned int ms = max(READ_ONCE(timeout_ms), 1U);

	lockdep_assert_held(&channel->lock);
	ms += READ_ONCE(channel->bytes) >> DCBM_BYTES_PER_MS_SHIFT;
	channel->deadline = jiffies + msecs_to_jiffies(ms) + 1;
}

/*
 * The channel has one descriptor less in flight: wakes the submitter if there is more to send, or
 * nothing left to wait for.
 */
static void dcbm_progress(struct dcbm_channel *channel, struct dcbm_run *run)
{
	bool drained = !channel->in_flight;
	bool all_drained = drained && atomic_dec_and_test(&run->busy);

	lockdep_assert_held(&channel->lock);
	dcbm_set_deadline(channel);
	if (all_drained ||
	    (READ_ONCE(run->more) && (drained || channel->in_flight == DCBM_REFILL)))
		complete(&run->progress);
}

/* A descriptor is through, whatever came of it. Called in any context, mostly hard interrupts. */
static void dcbm_callback(void *param, const struct dmaengine_result *result)
{
	struct dcbm_job *job = param;
	struct dcbm_channel *channel = job->channel;
	unsigned long flags;

	spin_lock_irqsave(&channel->lock, flags);
	if (WARN_ON_ONCE(!job->pending))
		goto unlock;

	if (result->result != DMA_TRANS_NOERROR) {
		job->failed = true;
		WRITE_ONCE(channel->errors, channel->errors + 1);
	}
	channel->in_flight--;
	job->pending--;
	if (channel->dead) {
		schedule_work(&channel->release_work);
		goto unlock;
	}

	if (!job->pending && !job->open)
		__set_bit(job - channel->jobs, &channel->done);
	/* The submitter takes this lock before its run ends. */
	if (!WARN_ON_ONCE(!channel->run))
		dcbm_progress(channel, channel->run);
unlock:
	spin_unlock_irqrestore(&channel->lock, flags);
}

static void dcbm_give_up(struct migrate_copy *item, u8 status, u8 cause)
{
	item->status = status;
	item->cause = cause;
}

static int dcbm_map(struct dcbm_job *job)
{
	struct device *dev = job->channel->dev;
	size_t size = folio_size(job->src);

	job->src_addr = dma_map_page(dev, folio_page(job->src, 0), 0, size, DMA_TO_DEVICE);
	if (dma_mapping_error(dev, job->src_addr))
		return -ENOMEM;

	job->dst_addr = dma_map_page(dev, folio_page(job->dst, 0), 0, size, DMA_FROM_DEVICE);
	if (dma_mapping_error(dev, job->dst_addr)) {
		dma_unmap_page(dev, job->src_addr, size, DMA_TO_DEVICE);
		return -ENOMEM;
	}
	return 0;
}

/* Only after this does the CPU see what the device wrote: it may have been to a bounce buffer. */
static void dcbm_unmap(struct dcbm_job *job)
{
	struct device *dev = job->channel->dev;
	size_t size = folio_size(job->src);

	dma_unmap_page(dev, job->src_addr, size, DMA_TO_DEVICE);
	dma_unmap_page(dev, job->dst_addr, size, DMA_FROM_DEVICE);
}

/* One descriptor, counted before it is submitted since it may be complete right after. */
static int dcbm_send(struct dcbm_channel *channel, struct dcbm_job *job, size_t len)
{
	struct dma_async_tx_descriptor *tx;
	dma_cookie_t cookie;

	tx = dmaengine_prep_dma_memcpy(channel->chan, job->dst_addr + job->sent,
				       job->src_addr + job->sent, len,
				       DMA_PREP_INTERRUPT | DMA_CTRL_ACK);
	if (!tx)
		return -EBUSY;
	tx->callback_result = dcbm_callback;
	tx->callback_param = job;

	spin_lock_irq(&channel->lock);
	job->pending++;
	if (!channel->in_flight++) {
		atomic_inc(&channel->run->busy);
		dcbm_set_deadline(channel);
	}
	spin_unlock_irq(&channel->lock);

	cookie = dmaengine_submit(tx);
	if (dma_submit_error(cookie)) {
		spin_lock_irq(&channel->lock);
		job->pending--;
		if (!--channel->in_flight)
			atomic_dec(&channel->run->busy);
		spin_unlock_irq(&channel->lock);
		return cookie;
	}
	channel->cookie = cookie;
	job->sent += len;
	return 0;
}

/* Sends what the channel's partial job has left: all of it, unless the channel is full before. */
static void dcbm_advance(struct dcbm_channel *channel)
{
	struct dcbm_job *job = channel->partial;
	size_t size = folio_size(job->src), len;
	const size_t max_len = channel->max_len;
	bool refused = false;

	while (job->sent < size && !READ_ONCE(job->failed)) {
		if (READ_ONCE(channel->in_flight) >= DCBM_DEPTH)
			break;
		len = min(size - job->sent, channel->max_len);
		if (!dcbm_send(channel, job, len))
			continue;
		/* Full, or out of descriptors: more will be known when some have come back. */
		if (READ_ONCE(channel->in_flight))
			break;
		refused = len <= DCBM_MIN_LEN;
		if (refused) {
			/* At every length: then the length was not the reason. */
			channel->max_len = max_len;
			break;
		}
		channel->max_len = max_t(size_t, len / 2, DCBM_MIN_LEN);
	}
	dma_async_issue_pending(channel->chan);

	if (job->sent < size && !READ_ONCE(job->failed) && !refused)
		return;

	channel->partial = NULL;
	spin_lock_irq(&channel->lock);
	job->open = false;
	if (!job->pending)
		__set_bit(job - channel->jobs, &channel->done);
	spin_unlock_irq(&channel->lock);
}

static struct dcbm_job *dcbm_free_slot(struct dcbm_channel *channel)
{
	for (unsigned int i = 0; i < DCBM_DEPTH; i++)
		if (!channel->jobs[i].src)
			return &channel->jobs[i];
	return NULL;
}

static void dcbm_start(struct dcbm_channel *channel, struct migrate_copy *item)
{
	struct dcbm_job *job = dcbm_free_slot(channel);

	job->item = item;
	job->src = item->src;
	job->dst = item->dst;
	job->sent = 0;
	job->open = true;
	job->failed = false;
	if (dcbm_map(job)) {
		dcbm_give_up(item, MIGRATE_COPY_NONE, MIGRATE_FALLBACK_MAP);
		job->src = NULL;
		return;
	}
	channel->used++;
	WRITE_ONCE(channel->bytes, channel->bytes + folio_size(job->src));
	channel->partial = job;
	dcbm_advance(channel);
}

/* The job's descriptors are all through: tells the submitter's caller and frees the slot. */
static void dcbm_finish(struct dcbm_job *job)
{
	struct dcbm_channel *channel = job->channel;
	size_t size = folio_size(job->src);

	dcbm_unmap(job);
	if (job->failed) {
		dcbm_give_up(job->item, MIGRATE_COPY_ERROR, MIGRATE_FALLBACK_ERROR);
	} else if (job->sent < size) {
		dcbm_give_up(job->item, job->sent ? MIGRATE_COPY_ERROR : MIGRATE_COPY_NONE,
			     MIGRATE_FALLBACK_PREP);
	} else {
		job->item->status = MIGRATE_COPY_DONE;
		WRITE_ONCE(channel->copied, channel->copied + (size >> PAGE_SHIFT));
	}
	channel->used--;
	WRITE_ONCE(channel->bytes, channel->bytes - size);
	job->src = NULL;
}

static void dcbm_reap(struct dcbm_channel *channel)
{
	unsigned long done;
	unsigned int i;

	spin_lock_irq(&channel->lock);
	done = channel->done;
	channel->done = 0;
	spin_unlock_irq(&channel->lock);

	for_each_set_bit(i, &done, DCBM_DEPTH)
		dcbm_finish(&channel->jobs[i]);
}

/* Large folios count for what they are: the channel with the fewest bytes ahead takes the next. */
static struct dcbm_channel *dcbm_least_loaded(struct dcbm_run *run)
{
	struct dcbm_channel *channel, *least = NULL;

	list_for_each_entry(channel, &run->channels, link) {
		if (least && channel->bytes >= least->bytes)
			continue;
		if (channel->mute || channel->partial || channel->used >= DCBM_DEPTH ||
		    READ_ONCE(channel->in_flight) >= DCBM_DEPTH)
			continue;
		least = channel;
	}
	return least;
}

/*
 * Takes back what is complete and sends what there is room for. False when nothing is in flight
 * and nothing can be sent any more.
 */
static bool dcbm_feed(struct dcbm_run *run)
{
	struct dcbm_channel *channel;
	bool more = false;

	list_for_each_entry(channel, &run->channels, link) {
		dcbm_reap(channel);
		if (channel->partial)
			dcbm_advance(channel);
	}

	while (run->next < run->nr) {
		channel = dcbm_least_loaded(run);
		if (!channel)
			break;
		dcbm_start(channel, &run->items[run->next++]);
	}

	list_for_each_entry(channel, &run->channels, link)
		more |= channel->partial || (!channel->mute && run->next < run->nr);
	WRITE_ONCE(run->more, more);
	return more || atomic_read(&run->busy);
}

/*
 * Notes every job that is in flight as lost. Its folios were locked and the caller's up to here;
 * the references also keep them from being split, so that they can be unmapped as they were mapped.
 */
static void dcbm_lose_jobs(struct dcbm_channel *channel)
{
	lockdep_assert_held(&channel->lock);

	for (unsigned int i = 0; i < DCBM_DEPTH; i++) {
		struct dcbm_job *job = &channel->jobs[i];

		if (!job->src || !job->pending)
			continue;
		folio_get(job->src);
		folio_get(job->dst);
		dcbm_give_up(job->item, MIGRATE_COPY_LOST, MIGRATE_FALLBACK_TIMEOUT);
		job->item = NULL;
		job->open = false;
		channel->lost++;
	}
}

/* Gives the channel up for good. What it had in flight is released by dcbm_release_lost(). */
static void dcbm_kill(struct dcbm_run *run, struct dcbm_channel *channel)
{
	struct dcbm_job *partial = channel->partial;
	unsigned int lost;

	spin_lock_irq(&channel->lock);
	if (!channel->in_flight || time_before(jiffies, channel->deadline)) {
		spin_unlock_irq(&channel->lock);
		return;
	}
	/* Fails when the module is on its way out: dcbm_exit() waits for the lost jobs then. */
	channel->pinned = try_module_get(THIS_MODULE);
	atomic_inc(&dcbm_nr_losing);
	channel->dead = true;
	channel->run = NULL;
	/* A partial job that has nothing in flight fails like any other that was not sent. */
	if (partial && !partial->pending) {
		partial->open = false;
		__set_bit(partial - channel->jobs, &channel->done);
	}
	dcbm_lose_jobs(channel);
	lost = channel->lost;
	atomic_dec(&run->busy);
	spin_unlock_irq(&channel->lock);

	if (!channel->mute)
		atomic_dec(&dcbm_nr_usable);
	channel->partial = NULL;
	list_del_init(&channel->link);
	dcbm_reap(channel);
	pr_err("%s did not answer for %u ms and is given up; %u folios are kept until it does\n",
	       dma_chan_name(channel->chan), timeout_ms, lost);
}

/* How long until the first of the channels is overdue or to be polled, in jiffies. */
static unsigned long dcbm_time_left(struct dcbm_run *run)
{
	struct dcbm_channel *channel;
	long left = MAX_SCHEDULE_TIMEOUT;

	list_for_each_entry(channel, &run->channels, link) {
		spin_lock_irq(&channel->lock);
		if (channel->in_flight)
			left = channel->mute ? 1 : min(left, (long)(channel->deadline - jiffies));
		spin_unlock_irq(&channel->lock);
	}
	return max(left, 1L);
}

/*
 * Only the interrupt may have got lost: the driver runs the callbacks from here then. A channel
 * that needs this is polled until it is empty, and not used any more.
 */
static void dcbm_poll(struct dcbm_channel *channel)
{
	unsigned int before = READ_ONCE(channel->in_flight);

	dma_async_is_tx_complete(channel->chan, channel->cookie, NULL, NULL);
	if (channel->mute || READ_ONCE(channel->in_flight) == before)
		return;

	channel->mute = true;
	atomic_dec(&dcbm_nr_usable);
	pr_err("%s completes copies without telling, and is not used any more: see whether its interrupt arrives in /proc/interrupts\n",
	       dma_chan_name(channel->chan));
}

/* Waits until there is something to do, or something is overdue. */
static void dcbm_wait(struct dcbm_run *run)
{
	struct dcbm_channel *channel, *next;

	if (wait_for_completion_timeout(&run->progress, dcbm_time_left(run)))
		return;

	list_for_each_entry_safe(channel, next, &run->channels, link) {
		bool overdue = !time_before(jiffies, READ_ONCE(channel->deadline));

		if (!READ_ONCE(channel->in_flight) || !(overdue || channel->mute))
			continue;
		dcbm_poll(channel);
		dcbm_kill(run, channel);
	}
}

/* Picks up to @nr idle channels, those near the destination first, then the longest idle ones. */
static void dcbm_claim(struct dcbm_run *run, unsigned int nr, int dst_nid)
{
	struct dcbm_channel *channel, *next;

	spin_lock(&dcbm_idle_lock);
	for (unsigned int pass = 0; pass < 2; pass++) {
		list_for_each_entry_safe(channel, next, &dcbm_idle, link) {
			if (!nr)
				break;
			if (!pass && channel->nid != dst_nid)
				continue;
			list_move_tail(&channel->link, &run->channels);
			nr--;
		}
	}
	spin_unlock(&dcbm_idle_lock);

	list_for_each_entry(channel, &run->channels, link) {
		spin_lock_irq(&channel->lock);
		channel->run = run;
		spin_unlock_irq(&channel->lock);
	}
}

/* Nothing is in flight: takes back the last jobs, after which no callback knows the run. */
static void dcbm_unclaim(struct dcbm_run *run)
{
	struct dcbm_channel *channel, *next;

	list_for_each_entry_safe(channel, next, &run->channels, link) {
		dcbm_reap(channel);
		spin_lock_irq(&channel->lock);
		channel->run = NULL;
		channel->dead = channel->mute;
		spin_unlock_irq(&channel->lock);
		if (channel->mute)
			list_del_init(&channel->link);
	}

	spin_lock(&dcbm_idle_lock);
	list_splice_tail_init(&run->channels, &dcbm_idle);
	spin_unlock(&dcbm_idle_lock);
}

static void dcbm_copy(struct migrate_copy *items, unsigned int nr, unsigned int nr_channels,
		      int dst_nid)
{
	struct dcbm_run run = {
		.channels = LIST_HEAD_INIT(run.channels),
		.items = items,
		.nr = nr,
		.more = true,
		.busy = ATOMIC_INIT(0),
	};
	u8 cause = MIGRATE_FALLBACK_BUSY;

	init_completion(&run.progress);
	dcbm_claim(&run, min(nr, nr_channels), dst_nid);
	if (!list_empty(&run.channels)) {
		while (dcbm_feed(&run))
			dcbm_wait(&run);
		/* What is left now is there because all the channels went out of use. */
		cause = MIGRATE_FALLBACK_PREP;
		dcbm_unclaim(&run);
	}
	while (run.next < nr)
		dcbm_give_up(&items[run.next++], MIGRATE_COPY_NONE, cause);
}

/* Every channel reaches every node, so that only the number of live ones counts. */
static unsigned int dcbm_count_channels(int dst_nid)
{
	return atomic_read(&dcbm_nr_usable);
}

static struct migrate_offload_provider dcbm_provider = {
	.name = "dcbm",
	.nr_channels = dcbm_count_channels,
	.copy = dcbm_copy,
};

/*
 * Late answers of a dead channel: what they were about can be let go. Not done in the callback,
 * where the last reference to a folio must not be dropped.
 */
static void dcbm_release_lost(struct work_struct *work)
{
	struct dcbm_channel *channel = container_of(work, struct dcbm_channel, release_work);
	unsigned int released = 0, lost;
	bool pinned;

	for (unsigned int i = 0; i < DCBM_DEPTH; i++) {
		struct dcbm_job *job = &channel->jobs[i];
		bool through;

		spin_lock_irq(&channel->lock);
		through = job->src && !job->item && !job->pending;
		spin_unlock_irq(&channel->lock);
		if (!through)
			continue;

		dcbm_unmap(job);
		folio_put(job->src);
		folio_put(job->dst);
		job->src = NULL;
		released++;
	}
	if (!released)
		return;

	spin_lock_irq(&channel->lock);
	channel->lost -= released;
	lost = channel->lost;
	pinned = channel->pinned;
	spin_unlock_irq(&channel->lock);
	if (lost)
		return;

	pr_info("%s answered at last: all its folios are released\n",
		dma_chan_name(channel->chan));
	if (atomic_dec_and_test(&dcbm_nr_losing))
		wake_up(&dcbm_answered);
	/* Safe to return from: dcbm_exit() flushes this work before the code goes away. */
	if (pinned)
		module_put(THIS_MODULE);
}

static int dcbm_add_channel(struct dma_chan *chan)
{
	struct dcbm_channel *channel = kzalloc_obj(*channel);

	if (!channel)
		return -ENOMEM;

	channel->chan = chan;
	channel->dev = dmaengine_get_dma_device(chan);
	channel->nid = dev_to_node(channel->dev);
	channel->max_len = DCBM_MAX_LEN;
	spin_lock_init(&channel->lock);
	INIT_WORK(&channel->release_work, dcbm_release_lost);
	for (unsigned int i = 0; i < DCBM_DEPTH; i++)
		channel->jobs[i].channel = channel;

	list_add_tail(&channel->node, &dcbm_channels);
	spin_lock(&dcbm_idle_lock);
	list_add_tail(&channel->link, &dcbm_idle);
	spin_unlock(&dcbm_idle_lock);
	atomic_inc(&dcbm_nr_usable);
	return 0;
}

static bool dcbm_on_node(struct dma_chan *chan, void *nid)
{
	return dev_to_node(dmaengine_get_dma_device(chan)) == *(int *)nid;
}

static bool dcbm_request_channel(dma_filter_fn filter, int nid)
{
	struct dma_chan *chan;
	dma_cap_mask_t mask;

	if (atomic_read(&dcbm_nr_usable) >= READ_ONCE(max_channels))
		return false;

	dma_cap_zero(mask);
	dma_cap_set(DMA_MEMCPY, mask);
	chan = dma_request_channel(mask, filter, &nid);
	if (!chan)
		return false;
	if (dcbm_add_channel(chan)) {
		dma_release_channel(chan);
		return false;
	}
	return true;
}

/* Goes round the nodes, so that a limit below the number of channels leaves some near each. */
static void dcbm_request_channels(void)
{
	bool found;
	int nid;

	do {
		found = false;
		for_each_online_node(nid)
			found |= dcbm_request_channel(dcbm_on_node, nid);
	} while (found);

	while (dcbm_request_channel(NULL, NUMA_NO_NODE))
		;
}

/*
 * Returns the channels to the engines, except those that have lost jobs. The provider is not
 * registered: nobody uses them.
 */
static void dcbm_release_channels(void)
{
	struct dcbm_channel *channel, *next;
	LIST_HEAD(released);

	list_for_each_entry_safe(channel, next, &dcbm_channels, node) {
		unsigned int lost;

		spin_lock_irq(&channel->lock);
		lost = channel->lost;
		spin_unlock_irq(&channel->lock);
		if (lost) {
			pr_warn("%s stays claimed: it may still write to %u folios\n",
				dma_chan_name(channel->chan), lost);
			continue;
		}

		if (!channel->dead) {
			spin_lock(&dcbm_idle_lock);
			list_del(&channel->link);
			spin_unlock(&dcbm_idle_lock);
			atomic_dec(&dcbm_nr_usable);
		}
		list_move(&channel->node, &released);
		dma_release_channel(channel->chan);
	}

	/* A callback that has told all there is to tell may still be on its way out. */
	synchronize_rcu();
	list_for_each_entry_safe(channel, next, &released, node) {
		flush_work(&channel->release_work);
		kfree(channel);
	}
}

static int dcbm_enable(void)
{
	int err;

	lockdep_assert_held(&dcbm_mutex);
	if (dcbm_enabled)
		return 0;

	dcbm_request_channels();
	if (!atomic_read(&dcbm_nr_usable)) {
		pr_err("no free DMA channel can copy memory: load the engine's driver, or free a channel (see /sys/class/dma/*/in_use), then enable again\n");
		err = -ENODEV;
		goto release;
	}

	err = migrate_offload_register(&dcbm_provider);
	if (err) {
		pr_err("cannot register with page migration (%d): is another provider enabled?\n",
		       err);
		goto release;
	}
	dcbm_enabled = true;
	pr_info("enabled with %d channels\n", atomic_read(&dcbm_nr_usable));
	return 0;

release:
	dcbm_release_channels();
	return err;
}

/* Waits for the copies that run. */
static void dcbm_disable(void)
{
	lockdep_assert_held(&dcbm_mutex);
	if (dcbm_enabled)
		migrate_offload_unregister(&dcbm_provider);
	dcbm_enabled = false;
	dcbm_release_channels();
}

static ssize_t enabled_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%d\n", READ_ONCE(dcbm_enabled));
}

static ssize_t enabled_store(struct kobject *kobj, struct kobj_attribute *attr, const char *buf,
			     size_t count)
{
	bool on;
	int err = kstrtobool(buf, &on);

	if (err)
		return err;

	mutex_lock(&dcbm_mutex);
	if (on)
		err = dcbm_enable();
	else
		dcbm_disable();
	mutex_unlock(&dcbm_mutex);
	return err ?: count;
}

static ssize_t channels_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	struct dcbm_channel *channel;
	int len = 0;

	mutex_lock(&dcbm_mutex);
	list_for_each_entry(channel, &dcbm_channels, node) {
		const char *state = "idle";

		spin_lock_irq(&channel->lock);
		if (channel->dead)
			state = "dead";
		else if (channel->run)
			state = "busy";
		len += sysfs_emit_at(buf, len, "%s node%d %s copied %lu errors %lu lost %u\n",
				     dma_chan_name(channel->chan), channel->nid, state,
				     READ_ONCE(channel->copied), channel->errors, channel->lost);
		spin_unlock_irq(&channel->lock);
	}
	mutex_unlock(&dcbm_mutex);
	return len;
}

static struct kobj_attribute enabled_attr = __ATTR_RW(enabled);
static struct kobj_attribute channels_attr = __ATTR_RO(channels);

static struct attribute *dcbm_attrs[] = {
	&enabled_attr.attr,
	&channels_attr.attr,
	NULL,
};

static const struct attribute_group dcbm_group = {
	.attrs = dcbm_attrs,
};

static int __init dcbm_init(void)
{
	int err;

	dcbm_kobj = kobject_create_and_add("dcbm", kernel_kobj);
	if (!dcbm_kobj)
		return -ENOMEM;
	err = sysfs_create_group(dcbm_kobj, &dcbm_group);
	if (err) {
		kobject_put(dcbm_kobj);
		return err;
	}

	/* No channel now is no reason to fail: there may be one when somebody enables it again. */
	if (enable) {
		mutex_lock(&dcbm_mutex);
		dcbm_enable();
		mutex_unlock(&dcbm_mutex);
	}
	return 0;
}

static void __exit dcbm_exit(void)
{
	/* Waits for readers and writers, who take the mutex. */
	kobject_put(dcbm_kobj);

	mutex_lock(&dcbm_mutex);
	dcbm_disable();
	/* Only a copy that ran out of time just now can have lost anything: the others hold us. */
	if (!list_empty(&dcbm_channels)) {
		pr_warn("not unloaded before the engine answers\n");
		wait_event_idle(dcbm_answered, !atomic_read(&dcbm_nr_losing));
		dcbm_release_channels();
	}
	mutex_unlock(&dcbm_mutex);
}

module_init(dcbm_init);
module_exit(dcbm_exit);

MODULE_DESCRIPTION("Copies the folios of migration batches by DMA engines");
MODULE_LICENSE("GPL");
