// SPDX-License-Identifier: GPL-2.0-only
/*
 * DMA engines copy the folios of a migration batch.
 *
 * Any engine that offers DMA_MEMCPY will do. Channels are claimed when the provider is enabled and
 * kept until it is disabled, so that a batch only has to pick from those that are idle.
 *
 * A migrate_pages() call opens a stream and submits copies to it: folios, or several of order 0
 * that are neighbours in memory. A copy goes to the engine as one descriptor, or as several on as
 * many channels when it is larger than a segment is to be or than the engine takes. What a
 * descriptor is about is DMA-mapped on its own, for the device of its channel, and every descriptor
 * has its own callback with its own result: engines may finish out of order. The copy is complete
 * when its last segment is.
 *
 * Streams that are open at the same time share the channels evenly: at each submission one gives
 * up what it has beyond its share as soon as it is idle, or takes what it lacks. Nobody waits for a
 * channel: a folio that finds none at all is left to the CPU.
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
#define DCBM_MIN_LEN	max(SZ_64K, PAGE_SIZE)

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
 * struct dcbm_job - one descriptor on its way through a channel
 * @channel: the channel that the job is a slot of
 * @copy: what it is a part of
 * @src: where the part begins in the source; NULL when the slot is free
 * @dst: where it begins in the destination
 * @src_addr: where the device sees @src
 * @dst_addr: where the device sees @dst
 * @len: length of the part
 * @pending: in flight; under the channel's lock
 * @failed: the engine failed it; under the channel's lock
 * @lost: the submitter has given it up, and @copy with it; under the channel's lock
 */
struct dcbm_job {
	struct dcbm_channel *channel;
	struct migrate_copy *copy;
	struct page *src;
	struct page *dst;
	dma_addr_t src_addr;
	dma_addr_t dst_addr;
	size_t len;
	bool pending;
	bool failed;
	bool lost;
};

/**
 * struct dcbm_channel - a claimed channel
 * @node: in dcbm_channels
 * @link: in dcbm_idle, or in the stream that uses the channel; in neither once the channel is dead
 * @chan: the engine's channel
 * @dev: device that does the DMA
 * @nid: node of the device, or NUMA_NO_NODE
 * @cookie: the descriptor sent last
 * @max_len: longest descriptor that the engine takes, as far as is known
 * @full: took no descriptor; something of it must come back first; the submitter's own
 * @unissued: descriptors are submitted but not issued; the submitter's own
 * @mute: completions come by polling only, so that it is given no more; the submitter's own
 * @used: slots in use; the submitter's own
 * @bytes: of the jobs in the slots; written by the submitter only
 * @copied: bytes copied since the channel was claimed
 * @errors: descriptors that the engine failed
 * @poller: task that runs the engine's callbacks by polling, if one does
 * @polled: a callback came that way
 * @lock: protects the rest
 * @stream: the stream that uses the channel
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
	bool full;
	bool unissued;
	bool mute;
	unsigned int used;
	size_t bytes;
	unsigned long copied;
	unsigned long errors;
	struct task_struct *poller;
	bool polled;

	spinlock_t lock; /* see above */
	struct dcbm_stream *stream;
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
 * struct dcbm_stream - copies of one migrate_pages() call
 * @channels: those in use
 * @nr_channels: number of @channels
 * @queue: copies that have bytes to send yet, in order
 * @complete: copies that are through and wait to be reaped
 * @segment: a longer copy is split into descriptors of this length, 0 is not at all
 * @nr_in: copies that were submitted and are not reaped
 * @nr_reaped: copies that were
 * @more: there is something in @queue, so that room in a channel is news
 * @busy: channels that have descriptors in flight
 * @nr_through: copies whose last descriptor was completed since the stream was opened
 * @target: the submitter sleeps until @nr_through reaches this
 * @progress: completed when the submitter has something to do
 */
struct dcbm_stream {
	struct list_head channels;
	unsigned int nr_channels;
	struct list_head queue;
	struct list_head complete;
	size_t segment;
	unsigned int nr_in;
	int nr_reaped;
	bool more;
	atomic_t busy;
	atomic_t nr_through;
	int target;
	struct completion progress;
};

static DEFINE_MUTEX(dcbm_mutex);
static LIST_HEAD(dcbm_channels);	/* all claimed channels, under dcbm_mutex */
static bool dcbm_enabled;		/* under dcbm_mutex */

static DEFINE_SPINLOCK(dcbm_idle_lock);
static LIST_HEAD(dcbm_idle);		/* least recently used first, under dcbm_idle_lock */

static atomic_t dcbm_nr_usable = ATOMIC_INIT(0);
static atomic_t dcbm_nr_streams = ATOMIC_INIT(0);
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
 * The channel has one descriptor less in flight, and possibly the stream one copy: wakes the
 * submitter if there is room for more, if enough is through, or if there is nothing left to wait
 * for.
 */
static void dcbm_progress(struct dcbm_channel *channel, struct dcbm_stream *stream, bool through)
{
	bool wake = false;

	lockdep_assert_held(&channel->lock);
	dcbm_set_deadline(channel);
	if (through)
		wake = atomic_inc_return(&stream->nr_through) - READ_ONCE(stream->target) >= 0;
	if (READ_ONCE(stream->more))
		wake |= !channel->in_flight || channel->in_flight == DCBM_REFILL;
	if (!channel->in_flight)
		wake |= atomic_dec_and_test(&stream->busy);
	if (wake)
		complete(&stream->progress);
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
	if (in_task() && READ_ONCE(channel->poller) == current)
		channel->polled = true;
	channel->in_flight--;
	job->pending = false;
	if (channel->dead) {
		schedule_work(&channel->release_work);
		goto unlock;
	}

	__set_bit(job - channel->jobs, &channel->done);
	/* The submitter takes this lock before its stream ends. */
	if (!WARN_ON_ONCE(!channel->stream))
		dcbm_progress(channel, channel->stream, atomic_dec_and_test(&job->copy->left));
unlock:
	spin_unlock_irqrestore(&channel->lock, flags);
}

/* The first thing that goes wrong with a copy is what is told of it. */
static void dcbm_spoil(struct migrate_copy *copy, u8 status, u8 cause)
{
	if (copy->status == MIGRATE_COPY_DONE || status == MIGRATE_COPY_LOST) {
		copy->status = status;
		copy->cause = cause;
	}
}

static bool dcbm_sent_all(const struct migrate_copy *copy)
{
	return copy->sent == copy->len;
}

/* The copy gets no further descriptors. It is through when the last of those it has come back. */
static void dcbm_leave_queue(struct dcbm_stream *stream, struct migrate_copy *copy)
{
	list_del(&copy->node);
	copy->queued = false;
	WRITE_ONCE(stream->more, !list_empty(&stream->queue));
	/* What is unsent has counted as one that is in flight. */
	if (atomic_dec_and_test(&copy->left))
		atomic_inc(&stream->nr_through);
	if (!copy->pending)
		list_add_tail(&copy->node, &stream->complete);
}

/* What cannot be sent is left to the CPU; the engine is done with the rest first. */
static void dcbm_give_up(struct dcbm_stream *stream, struct migrate_copy *copy, u8 cause)
{
	dcbm_spoil(copy, copy->sent ? MIGRATE_COPY_ERROR : MIGRATE_COPY_NONE, cause);
	dcbm_leave_queue(stream, copy);
}

static int dcbm_map(struct dcbm_job *job)
{
	struct device *dev = job->channel->dev;

	job->src_addr = dma_map_page(dev, job->src, 0, job->len, DMA_TO_DEVICE);
	if (dma_mapping_error(dev, job->src_addr))
		return -ENOMEM;

	job->dst_addr = dma_map_page(dev, job->dst, 0, job->len, DMA_FROM_DEVICE);
	if (dma_mapping_error(dev, job->dst_addr)) {
		dma_unmap_page(dev, job->src_addr, job->len, DMA_TO_DEVICE);
		return -ENOMEM;
	}
	return 0;
}

/* Only after this does the CPU see what the device wrote: it may have been to a bounce buffer. */
static void dcbm_unmap(struct dcbm_job *job)
{
	struct device *dev = job->channel->dev;

	dma_unmap_page(dev, job->src_addr, job->len, DMA_TO_DEVICE);
	dma_unmap_page(dev, job->dst_addr, job->len, DMA_FROM_DEVICE);
}

static struct dcbm_job *dcbm_free_slot(struct dcbm_channel *channel)
{
	for (unsigned int i = 0; i < DCBM_DEPTH; i++)
		if (!channel->jobs[i].src)
			return &channel->jobs[i];
	return NULL;
}

/* The descriptor is counted before it is submitted, since it may be complete right after. */
static void dcbm_count(struct dcbm_channel *channel, struct dcbm_job *job)
{
	job->copy->pending++;
	atomic_inc(&job->copy->left);
	channel->used++;
	WRITE_ONCE(channel->bytes, channel->bytes + job->len);

	spin_lock_irq(&channel->lock);
	job->pending = true;
	if (!channel->in_flight++) {
		atomic_inc(&channel->stream->busy);
		dcbm_set_deadline(channel);
	}
	spin_unlock_irq(&channel->lock);
}

/* The opposite, of what was not submitted after all. */
static void dcbm_uncount(struct dcbm_channel *channel, struct dcbm_job *job)
{
	spin_lock_irq(&channel->lock);
	job->pending = false;
	if (!--channel->in_flight)
		atomic_dec(&channel->stream->busy);
	spin_unlock_irq(&channel->lock);

	WRITE_ONCE(channel->bytes, channel->bytes - job->len);
	channel->used--;
	/* Never the last one: the copy is in the queue. */
	atomic_dec(&job->copy->left);
	job->copy->pending--;
}

static int dcbm_submit_job(struct dcbm_channel *channel, struct dcbm_job *job)
{
	struct dma_async_tx_descriptor *tx;
	dma_cookie_t cookie;

	tx = dmaengine_prep_dma_memcpy(channel->chan, job->dst_addr, job->src_addr, job->len,
				       DMA_PREP_INTERRUPT | DMA_CTRL_ACK);
	if (!tx)
		return -EBUSY;
	tx->callback_result = dcbm_callback;
	tx->callback_param = job;

	dcbm_count(channel, job);
	cookie = dmaengine_submit(tx);
	if (dma_submit_error(cookie)) {
		dcbm_uncount(channel, job);
		return -EBUSY;
	}
	channel->cookie = cookie;
	return 0;
}

/* Sends the next part of @copy. -ENOMEM: it cannot be mapped; -EBUSY: the engine is not willing. */
static int dcbm_send(struct dcbm_channel *channel, struct migrate_copy *copy, size_t len)
{
	struct dcbm_job *job = dcbm_free_slot(channel);
	int err;

	job->copy = copy;
	job->src = folio_page(copy->src, copy->sent >> PAGE_SHIFT);
	job->dst = folio_page(copy->dst, copy->sent >> PAGE_SHIFT);
	job->len = len;
	job->failed = false;
	err = dcbm_map(job);
	if (!err) {
		err = dcbm_submit_job(channel, job);
		if (err)
			dcbm_unmap(job);
	}
	if (err) {
		job->src = NULL;
		return err;
	}
	copy->sent += len;
	return 0;
}

static void dcbm_issue(struct dcbm_channel *channel)
{
	channel->unissued = false;
	dma_async_issue_pending(channel->chan);
}

/*
 * Sends one descriptor of @copy. An engine that refuses a length is asked for half of it, down to
 * one that every engine takes; with something in flight the reason may as well be that it is full.
 */
static void dcbm_send_part(struct dcbm_stream *stream, struct dcbm_channel *channel,
			   struct migrate_copy *copy)
{
	const bool idle = !READ_ONCE(channel->in_flight);
	const size_t max_len = channel->max_len;
	size_t len;
	int err;

	for (;;) {
		len = min(copy->len - copy->sent, channel->max_len);
		if (stream->segment)
			len = min(len, stream->segment);
		err = dcbm_send(channel, copy, len);
		if (err != -EBUSY || READ_ONCE(channel->in_flight) || len <= DCBM_MIN_LEN)
			break;
		/* Parts begin and end with a page. */
		channel->max_len = max_t(size_t, round_down(len / 2, PAGE_SIZE), DCBM_MIN_LEN);
	}

	if (err == -ENOMEM) {
		dcbm_give_up(stream, copy, MIGRATE_FALLBACK_MAP);
	} else if (err && READ_ONCE(channel->in_flight)) {
		channel->full = true;
	} else if (err) {
		/* At every length: then the length was not the reason. */
		channel->max_len = max_len;
		dcbm_give_up(stream, copy, MIGRATE_FALLBACK_PREP);
	} else {
		/* An idle engine starts at once, a busy one is told of several together. */
		channel->unissued = true;
		if (idle)
			dcbm_issue(channel);
		if (dcbm_sent_all(copy))
			dcbm_leave_queue(stream, copy);
	}
}

/* Large folios count for what they are: the channel with the fewest bytes ahead takes the next. */
static struct dcbm_channel *dcbm_least_loaded(struct dcbm_stream *stream)
{
	struct dcbm_channel *channel, *least = NULL;

	list_for_each_entry(channel, &stream->channels, link) {
		if (least && channel->bytes >= least->bytes)
			continue;
		if (channel->mute || channel->full || channel->used >= DCBM_DEPTH)
			continue;
		least = channel;
	}
	return least;
}

/* Sends what there is room for. Without a channel to wait for, what is queued is given up. */
static void dcbm_pump(struct dcbm_stream *stream)
{
	struct dcbm_channel *channel;
	struct migrate_copy *copy;
	bool alive = false;

	while ((copy = list_first_entry_or_null(&stream->queue, struct migrate_copy, node))) {
		channel = dcbm_least_loaded(stream);
		if (!channel)
			break;
		dcbm_send_part(stream, channel, copy);
	}

	list_for_each_entry(channel, &stream->channels, link) {
		if (channel->unissued)
			dcbm_issue(channel);
		alive |= !channel->mute;
	}
	if (alive)
		return;
	while ((copy = list_first_entry_or_null(&stream->queue, struct migrate_copy, node)))
		dcbm_give_up(stream, copy, stream->nr_channels ? MIGRATE_FALLBACK_PREP :
								 MIGRATE_FALLBACK_BUSY);
}

/* A copy has one descriptor less to wait for. */
static void dcbm_put_part(struct dcbm_stream *stream, struct migrate_copy *copy)
{
	if (!--copy->pending && !copy->queued)
		list_add_tail(&copy->node, &stream->complete);
}

/* The descriptor is through: frees its slot. */
static void dcbm_finish(struct dcbm_stream *stream, struct dcbm_job *job)
{
	struct dcbm_channel *channel = job->channel;
	struct migrate_copy *copy = job->copy;

	dcbm_unmap(job);
	if (job->failed)
		dcbm_spoil(copy, MIGRATE_COPY_ERROR, MIGRATE_FALLBACK_ERROR);
	else
		WRITE_ONCE(channel->copied, channel->copied + job->len);
	channel->used--;
	channel->full = false;
	WRITE_ONCE(channel->bytes, channel->bytes - job->len);
	job->src = NULL;
	/* No use in sending the rest. */
	if (job->failed && copy->queued)
		dcbm_leave_queue(stream, copy);
	dcbm_put_part(stream, copy);
}

static void dcbm_collect_channel(struct dcbm_stream *stream, struct dcbm_channel *channel)
{
	unsigned long done;
	unsigned int i;

	if (!READ_ONCE(channel->done))
		return;
	spin_lock_irq(&channel->lock);
	done = channel->done;
	channel->done = 0;
	spin_unlock_irq(&channel->lock);

	for_each_set_bit(i, &done, DCBM_DEPTH)
		dcbm_finish(stream, &channel->jobs[i]);
}

/* Takes back what is through, and sends what there is room for. */
static void dcbm_collect(struct dcbm_stream *stream)
{
	struct dcbm_channel *channel;

	list_for_each_entry(channel, &stream->channels, link)
		dcbm_collect_channel(stream, channel);
	if (!list_empty(&stream->queue))
		dcbm_pump(stream);
}

/* Pages from @page on that belong to its folio. */
static size_t dcbm_same_folio(struct page *page)
{
	struct folio *folio = page_folio(page);

	return folio_nr_pages(folio) - folio_page_idx(folio, page);
}

/* Takes a reference to each folio of the job. */
static void dcbm_hold(struct dcbm_job *job)
{
	for (size_t i = 0; i < job->len >> PAGE_SHIFT; i += dcbm_same_folio(job->src + i)) {
		folio_get(page_folio(job->src + i));
		folio_get(page_folio(job->dst + i));
	}
}

static void dcbm_let_go(struct dcbm_job *job)
{
	size_t i, step;

	for (i = 0; i < job->len >> PAGE_SHIFT; i += step) {
		/* Who holds the last reference cannot be asked afterwards. */
		step = dcbm_same_folio(job->src + i);
		folio_put(page_folio(job->src + i));
		folio_put(page_folio(job->dst + i));
	}
}

/*
 * Notes every job that is in flight as lost. Its folios were locked and the caller's up to here;
 * the references also keep them from being split, so that they can be unmapped as they were mapped.
 * Returns the slots.
 */
static unsigned long dcbm_lose_jobs(struct dcbm_channel *channel)
{
	unsigned long lost = 0;

	lockdep_assert_held(&channel->lock);

	for (unsigned int i = 0; i < DCBM_DEPTH; i++) {
		struct dcbm_job *job = &channel->jobs[i];

		if (!job->src || !job->pending)
			continue;
		dcbm_hold(job);
		job->lost = true;
		__set_bit(i, &lost);
		channel->lost++;
	}
	return lost;
}

/* What a lost job was a part of is not waited for any longer than its other parts take. */
static void dcbm_spoil_lost(struct dcbm_stream *stream, struct dcbm_channel *channel,
			    unsigned long lost)
{
	unsigned int i;

	for_each_set_bit(i, &lost, DCBM_DEPTH) {
		struct dcbm_job *job = &channel->jobs[i];
		struct migrate_copy *copy = job->copy;

		dcbm_spoil(copy, MIGRATE_COPY_LOST, MIGRATE_FALLBACK_TIMEOUT);
		if (copy->queued)
			dcbm_leave_queue(stream, copy);
		if (atomic_dec_and_test(&copy->left))
			atomic_inc(&stream->nr_through);
		dcbm_put_part(stream, copy);
	}
}

/* Gives the channel up for good. What it had in flight is released by dcbm_release_lost(). */
static void dcbm_kill(struct dcbm_stream *stream, struct dcbm_channel *channel)
{
	unsigned long lost;

	spin_lock_irq(&channel->lock);
	if (!channel->in_flight || time_before(jiffies, channel->deadline)) {
		spin_unlock_irq(&channel->lock);
		return;
	}
	/* Fails when the module is on its way out: dcbm_exit() waits for the lost jobs then. */
	channel->pinned = try_module_get(THIS_MODULE);
	atomic_inc(&dcbm_nr_losing);
	channel->dead = true;
	channel->stream = NULL;
	lost = dcbm_lose_jobs(channel);
	atomic_dec(&stream->busy);
	spin_unlock_irq(&channel->lock);

	if (!channel->mute)
		atomic_dec(&dcbm_nr_usable);
	list_del_init(&channel->link);
	stream->nr_channels--;
	/* First what came back before: nobody else does that any more. */
	dcbm_collect_channel(stream, channel);
	dcbm_spoil_lost(stream, channel, lost);
	pr_err("%s did not answer for %u ms and is given up; %lu copies are kept until it does\n",
	       dma_chan_name(channel->chan), timeout_ms, hweight_long(lost));
}

/* How long until the first of the channels is overdue or to be polled, in jiffies. */
static unsigned long dcbm_time_left(struct dcbm_stream *stream)
{
	struct dcbm_channel *channel;
	long left = MAX_SCHEDULE_TIMEOUT;

	list_for_each_entry(channel, &stream->channels, link) {
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
	WRITE_ONCE(channel->poller, current);
	dma_async_is_tx_complete(channel->chan, channel->cookie, NULL, NULL);
	WRITE_ONCE(channel->poller, NULL);
	if (channel->mute || !channel->polled)
		return;

	channel->mute = true;
	atomic_dec(&dcbm_nr_usable);
	pr_err("%s completes copies without telling, and is not used any more: see whether its interrupt arrives in /proc/interrupts\n",
	       dma_chan_name(channel->chan));
}

/* Waits until there is something to do, or something is overdue. */
static void dcbm_wait(struct dcbm_stream *stream)
{
	struct dcbm_channel *channel, *next;

	if (wait_for_completion_timeout(&stream->progress, dcbm_time_left(stream)))
		return;

	list_for_each_entry_safe(channel, next, &stream->channels, link) {
		bool overdue = !time_before(jiffies, READ_ONCE(channel->deadline));

		if (!READ_ONCE(channel->in_flight) || !(overdue || channel->mute))
			continue;
		dcbm_poll(channel);
		dcbm_kill(stream, channel);
	}
}

/* Takes up to @nr idle channels, those near the destination first, then the longest idle ones. */
static void dcbm_claim(struct dcbm_stream *stream, unsigned int nr, int dst_nid)
{
	struct dcbm_channel *channel, *next;
	LIST_HEAD(claimed);

	spin_lock(&dcbm_idle_lock);
	for (unsigned int pass = 0; pass < 2; pass++) {
		list_for_each_entry_safe(channel, next, &dcbm_idle, link) {
			if (!nr)
				break;
			if (!pass && channel->nid != dst_nid)
				continue;
			list_move_tail(&channel->link, &claimed);
			stream->nr_channels++;
			nr--;
		}
	}
	spin_unlock(&dcbm_idle_lock);

	list_for_each_entry(channel, &claimed, link) {
		spin_lock_irq(&channel->lock);
		channel->stream = stream;
		spin_unlock_irq(&channel->lock);
	}
	list_splice_tail(&claimed, &stream->channels);
}

/* Nothing of the channel is in flight, nor waits to be taken back: no callback knows the stream. */
static void dcbm_unclaim(struct dcbm_stream *stream, struct dcbm_channel *channel)
{
	spin_lock_irq(&channel->lock);
	channel->stream = NULL;
	channel->dead = channel->mute;
	spin_unlock_irq(&channel->lock);

	stream->nr_channels--;
	list_del_init(&channel->link);
	if (channel->mute)
		return;
	spin_lock(&dcbm_idle_lock);
	list_add_tail(&channel->link, &dcbm_idle);
	spin_unlock(&dcbm_idle_lock);
}

/* Gives back idle channels until no more than @nr are left. */
static void dcbm_shrink(struct dcbm_stream *stream, unsigned int nr)
{
	struct dcbm_channel *channel, *next;

	list_for_each_entry_safe_reverse(channel, next, &stream->channels, link) {
		if (stream->nr_channels <= nr)
			return;
		if (!channel->used)
			dcbm_unclaim(stream, channel);
	}
}

/* An even share for each of the streams that are open, of what the engines have. */
static unsigned int dcbm_share(void)
{
	unsigned int streams = max(atomic_read(&dcbm_nr_streams), 1);

	return DIV_ROUND_UP(max(atomic_read(&dcbm_nr_usable), 0), streams);
}

static struct migrate_offload_stream *dcbm_open(void)
{
	/* For reclaim, too, which must get along without its reserves. */
	struct dcbm_stream *stream = kzalloc_obj(*stream, GFP_NOWAIT | __GFP_NOMEMALLOC |
							  __GFP_NOWARN);

	if (!stream)
		return NULL;

	INIT_LIST_HEAD(&stream->channels);
	INIT_LIST_HEAD(&stream->queue);
	INIT_LIST_HEAD(&stream->complete);
	init_completion(&stream->progress);
	atomic_inc(&dcbm_nr_streams);
	return (struct migrate_offload_stream *)stream;
}

static void dcbm_submit(struct migrate_offload_stream *s, struct list_head *copies,
			unsigned int nr_channels, size_t segment, int dst_nid)
{
	struct dcbm_stream *stream = (struct dcbm_stream *)s;
	struct migrate_copy *copy;

	nr_channels = min(nr_channels, dcbm_share());
	if (stream->nr_channels > nr_channels)
		dcbm_shrink(stream, nr_channels);
	else if (stream->nr_channels < nr_channels)
		dcbm_claim(stream, nr_channels - stream->nr_channels, dst_nid);

	stream->segment = segment;
	list_for_each_entry(copy, copies, node) {
		copy->status = MIGRATE_COPY_DONE;
		copy->sent = 0;
		copy->pending = 0;
		copy->queued = true;
		atomic_set(&copy->left, 1);
		stream->nr_in++;
	}
	list_splice_tail_init(copies, &stream->queue);
	WRITE_ONCE(stream->more, !list_empty(&stream->queue));
	dcbm_pump(stream);
}

static bool dcbm_enough(struct dcbm_stream *stream)
{
	return atomic_read(&stream->nr_through) - stream->target >= 0;
}

static void dcbm_reap(struct migrate_offload_stream *s, struct list_head *copies, unsigned int nr)
{
	struct dcbm_stream *stream = (struct dcbm_stream *)s;
	unsigned int through = 0;
	struct migrate_copy *copy;

	nr = min(nr, stream->nr_in);
	WRITE_ONCE(stream->target, stream->nr_reaped + nr);
	/*
	 * Either we see what a callback has completed, or it sees what we wait for: pairs with the
	 * atomic operations in dcbm_callback().
	 */
	smp_mb();
	while (!dcbm_enough(stream)) {
		/* May itself find that the rest is not to be sent. */
		dcbm_collect(stream);
		if (!dcbm_enough(stream))
			dcbm_wait(stream);
	}
	dcbm_collect(stream);

	list_for_each_entry(copy, &stream->complete, node)
		through++;
	stream->nr_in -= through;
	stream->nr_reaped += through;
	list_splice_tail_init(&stream->complete, copies);
}

static void dcbm_close(struct migrate_offload_stream *s)
{
	struct dcbm_stream *stream = (struct dcbm_stream *)s;
	struct dcbm_channel *channel, *next;

	WARN_ON_ONCE(stream->nr_in);
	list_for_each_entry_safe(channel, next, &stream->channels, link)
		dcbm_unclaim(stream, channel);
	atomic_dec(&dcbm_nr_streams);
	kfree(stream);
}

/* Every channel reaches every node, so that only the number of live ones counts. */
static unsigned int dcbm_count_channels(int dst_nid)
{
	return atomic_read(&dcbm_nr_usable);
}

static struct migrate_offload_provider dcbm_provider = {
	.name = "dcbm",
	.nr_channels = dcbm_count_channels,
	.open = dcbm_open,
	.submit = dcbm_submit,
	.reap = dcbm_reap,
	.close = dcbm_close,
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
		through = job->lost && !job->pending;
		if (through)
			job->lost = false;
		spin_unlock_irq(&channel->lock);
		if (!through)
			continue;

		dcbm_unmap(job);
		dcbm_let_go(job);
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
		else if (channel->stream)
			state = "busy";
		len += sysfs_emit_at(buf, len, "%s node%d %s copied %lu errors %lu lost %u\n",
				     dma_chan_name(channel->chan), channel->nid, state,
				     READ_ONCE(channel->copied) >> PAGE_SHIFT, channel->errors,
				     channel->lost);
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
