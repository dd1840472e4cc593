// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A client of DMA engines for tests: copies in bursts of many descriptors, which dmatest cannot,
 * and checks what an engine's driver owes its clients besides the copy: the result of each
 * descriptor, their order, status and residue, and that nothing is written after a channel was
 * terminated.
 *
 * It does its work while it is being loaded, and leaves a line of figures in the log. A figure
 * whose name ends in _wrong should be 0; callbacks of several channels may count one thing twice or
 * miss one, but not all.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/dmaengine.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>

static char *channel;
module_param(channel, charp, 0);
MODULE_PARM_DESC(channel, "name of the channel (default: as many as `channels` says, any)");

static unsigned int channels = 1;
module_param(channels, uint, 0);
MODULE_PARM_DESC(channels, "channels to use at the same time");

static unsigned int bursts = 10;
module_param(bursts, uint, 0);
MODULE_PARM_DESC(bursts, "bursts, one after the other");

static unsigned int burst = 16;
module_param(burst, uint, 0);
MODULE_PARM_DESC(burst, "descriptors of a burst on each channel, issued together");

static unsigned int length = 4096;
module_param(length, uint, 0);
MODULE_PARM_DESC(length, "bytes of a descriptor");

static unsigned int interrupt = 1;
module_param(interrupt, uint, 0);
MODULE_PARM_DESC(interrupt,
		 "descriptors that ask for an interrupt: every nth and the last; 0 is none");

static bool poll;
module_param(poll, bool, 0);
MODULE_PARM_DESC(poll, "ask for the status of the last descriptor instead of waiting");

static bool verify = true;
module_param(verify, bool, 0);
MODULE_PARM_DESC(verify, "look at contents, status and residue");

static bool pause;
module_param(pause, bool, 0);
MODULE_PARM_DESC(pause, "pause the channels before and in each burst");

static bool terminate;
module_param(terminate, bool, 0);
MODULE_PARM_DESC(terminate, "terminate the channels after each burst was issued");

#define TIMEOUT_MS	10000

struct slot {
	struct line *line;
	dma_cookie_t cookie;
	bool answered;
	bool failed;
};

/* What one channel does */
struct line {
	struct dma_chan *chan;
	struct device *dev;
	u8 *src;
	u8 *dst;
	dma_addr_t src_addr;
	dma_addr_t dst_addr;
	struct slot *slots;
	unsigned int answered;	/* callbacks run for one channel one after the other */
	struct completion done;
};

static struct line *lines;
static unsigned int nr_lines;

static unsigned long nr_good, nr_failed, nr_lost, nr_terminated;
static unsigned long contents_wrong, order_wrong, status_wrong, residue_wrong, paused_wrong;
static unsigned long late_wrong;

/* What the callbacks up to this one have written is to be seen, and what the engine has copied */
static unsigned int nr_answered(struct line *line)
{
	/* Pairs with the release in burst_callback() */
	return smp_load_acquire(&line->answered);
}

static void burst_callback(void *param, const struct dmaengine_result *result)
{
	struct slot *slot = param;
	struct line *line = slot->line;

	if (slot->answered || slot != &line->slots[line->answered])
		order_wrong++;
	slot->answered = true;
	slot->failed = result->result != DMA_TRANS_NOERROR;
	if (slot->failed && result->residue != length)
		residue_wrong++;
	/* Whoever polls may go on as soon as it sees this, and does not use the completion */
	smp_store_release(&line->answered, line->answered + 1);
	if (!poll && line->answered == burst)
		complete(&line->done);
}

static bool wants_interrupt(unsigned int i)
{
	return interrupt && (i % interrupt == interrupt - 1 || i == burst - 1);
}

static int burst_submit(struct line *line)
{
	struct dma_async_tx_descriptor *tx;
	unsigned int i;

	line->answered = 0;
	reinit_completion(&line->done);
	for (i = 0; i < burst; i++) {
		struct slot *slot = &line->slots[i];
		const size_t offset = (size_t)i * length;
		unsigned long flags = DMA_CTRL_ACK;

		if (wants_interrupt(i))
			flags |= DMA_PREP_INTERRUPT;
		slot->line = line;
		slot->answered = false;
		slot->failed = false;
		tx = dmaengine_prep_dma_memcpy(line->chan, line->dst_addr + offset,
					       line->src_addr + offset, length, flags);
		if (!tx)
			return -EIO;
		tx->callback_result = burst_callback;
		tx->callback_param = slot;
		slot->cookie = dmaengine_submit(tx);
		if (dma_submit_error(slot->cookie))
			return -EIO;
	}
	return 0;
}

/* No two descriptors, nor two bursts, have the same contents */
static void fill(struct line *line, unsigned int nr)
{
	u32 *words = (u32 *)line->src;
	size_t i, n = (size_t)burst * length / sizeof(u32);

	for (i = 0; i < n; i++)
		words[i] = nr * 0x9e3779b9 + i;
	memset(line->dst, 0xa5, (size_t)burst * length);
}

/* Nothing of what is in flight may be said to be complete before it is, and all of it is left */
static void check_residue(struct line *line, enum dma_status expected)
{
	struct dma_tx_state state;
	enum dma_status status;
	unsigned int i;

	for (i = 0; i < burst; i++) {
		status = dmaengine_tx_status(line->chan, line->slots[i].cookie, &state);
		if (status == expected) {
			if (state.residue != length)
				residue_wrong++;
		} else if (status != DMA_COMPLETE && status != DMA_ERROR) {
			status_wrong++;
		} else if (state.residue != (status == DMA_ERROR ? length : 0)) {
			residue_wrong++;
		}
	}
}

static void check_burst(struct line *line)
{
	struct dma_tx_state state;
	enum dma_status status;
	unsigned int i;

	for (i = 0; i < burst; i++) {
		const struct slot *slot = &line->slots[i];
		const size_t offset = (size_t)i * length;

		if (!slot->answered)
			continue;

		status = dmaengine_tx_status(line->chan, slot->cookie, &state);
		if (status != (slot->failed ? DMA_ERROR : DMA_COMPLETE))
			status_wrong++;
		if (state.residue != (slot->failed ? length : 0))
			residue_wrong++;
		if (!slot->failed && memcmp(line->dst + offset, line->src + offset, length))
			contents_wrong++;
	}
}

static void count_burst(struct line *line)
{
	unsigned int i;

	for (i = 0; i < burst; i++) {
		if (!line->slots[i].answered)
			nr_lost++;
		else if (line->slots[i].failed)
			nr_failed++;
		else
			nr_good++;
	}
}

static int wait_for_line(struct line *line)
{
	unsigned long end = jiffies + msecs_to_jiffies(TIMEOUT_MS);
	dma_cookie_t last = line->slots[burst - 1].cookie;

	if (!poll) {
		if (wait_for_completion_timeout(&line->done, end - jiffies))
			return 0;
		return -ETIMEDOUT;
	}
	while (nr_answered(line) < burst) {
		dma_async_is_tx_complete(line->chan, last, NULL, NULL);
		if (time_after(jiffies, end))
			return -ETIMEDOUT;
		cpu_relax();
		cond_resched();
	}
	return 0;
}

/*
 * A channel that was paused before does nothing of what is issued. One that is paused while it is
 * at work ends what the engine is at, and begins nothing.
 */
static void pause_line(struct line *line)
{
	unsigned int answered;

	msleep(20);
	if (nr_answered(line))
		paused_wrong++;
	check_residue(line, DMA_PAUSED);
	dmaengine_resume(line->chan);
	dmaengine_pause(line->chan);
	msleep(20);
	check_residue(line, DMA_PAUSED);
	answered = nr_answered(line);
	msleep(20);
	check_residue(line, DMA_PAUSED);
	if (nr_answered(line) != answered)
		paused_wrong++;
}

/*
 * After a channel was terminated and synchronized its buffers are ours: whatever is written to them
 * now is written by the engine. The same goes for callbacks.
 */
static void check_terminated(struct line *line)
{
	const unsigned int answered = nr_answered(line);
	size_t i;

	nr_terminated += burst - answered;
	memset(line->dst, 0x5a, (size_t)burst * length);
	msleep(20);
	for (i = 0; i < (size_t)burst * length; i++) {
		if (line->dst[i] != 0x5a) {
			late_wrong++;
			break;
		}
	}
	if (nr_answered(line) != answered)
		late_wrong++;
}

static int run_burst(unsigned int nr)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < nr_lines && !err; i++) {
		if (verify)
			fill(&lines[i], nr);
		if (pause)
			dmaengine_pause(lines[i].chan);
		err = burst_submit(&lines[i]);
	}
	if (err)
		return err;

	for (i = 0; i < nr_lines; i++)
		dma_async_issue_pending(lines[i].chan);
	for (i = 0; i < nr_lines && pause; i++) {
		pause_line(&lines[i]);
		if (!terminate)
			dmaengine_resume(lines[i].chan);
	}
	if (terminate) {
		for (i = 0; i < nr_lines; i++) {
			err = dmaengine_terminate_sync(lines[i].chan);
			if (err)
				return err;
			check_terminated(&lines[i]);
		}
		return 0;
	}

	/* Looking makes the driver look, too: not if what wakes us is to be the interrupt. */
	for (i = 0; i < nr_lines && verify && poll; i++)
		check_residue(&lines[i], DMA_IN_PROGRESS);
	for (i = 0; i < nr_lines; i++) {
		err = wait_for_line(&lines[i]);
		if (verify && !err)
			check_burst(&lines[i]);
		count_burst(&lines[i]);
		if (err)
			return err;
	}
	return 0;
}

static void line_close(struct line *line)
{
	const size_t size = (size_t)burst * length;

	if (!line->chan)
		return;
	dmaengine_terminate_sync(line->chan);
	if (line->dst)
		dma_free_coherent(line->dev, size, line->dst, line->dst_addr);
	if (line->src)
		dma_free_coherent(line->dev, size, line->src, line->src_addr);
	kfree(line->slots);
	dma_release_channel(line->chan);
}

static bool is_wanted(struct dma_chan *chan, void *unused)
{
	return !channel || !strcmp(dma_chan_name(chan), channel);
}

static int line_open(struct line *line)
{
	const size_t size = (size_t)burst * length;
	dma_cap_mask_t mask;

	dma_cap_zero(mask);
	dma_cap_set(DMA_MEMCPY, mask);
	line->chan = dma_request_channel(mask, is_wanted, NULL);
	if (!line->chan)
		return -ENODEV;
	line->dev = dmaengine_get_dma_device(line->chan);
	init_completion(&line->done);
	line->slots = kcalloc(burst, sizeof(*line->slots), GFP_KERNEL);
	line->src = dma_alloc_coherent(line->dev, size, &line->src_addr, GFP_KERNEL);
	line->dst = dma_alloc_coherent(line->dev, size, &line->dst_addr, GFP_KERNEL);
	return line->slots && line->src && line->dst ? 0 : -ENOMEM;
}

static int __init burst_init(void)
{
	unsigned int i;
	ktime_t start;
	int err = 0;
	u64 ns;

	if (!burst || !length || !channels || (channel && channels > 1))
		return -EINVAL;
	lines = kcalloc(channels, sizeof(*lines), GFP_KERNEL);
	if (!lines)
		return -ENOMEM;
	while (nr_lines < channels && !err)
		err = line_open(&lines[nr_lines++]);

	start = ktime_get();
	for (i = 0; i < bursts && !err; i++)
		err = run_burst(i);
	ns = ktime_to_ns(ktime_sub(ktime_get(), start));

	pr_info("descriptors=%lu good=%lu failed=%lu lost=%lu terminated=%lu ns=%llu contents_wrong=%lu order_wrong=%lu status_wrong=%lu residue_wrong=%lu paused_wrong=%lu late_wrong=%lu error=%d\n",
		nr_good + nr_failed + nr_lost + nr_terminated, nr_good, nr_failed, nr_lost,
		nr_terminated, ns, contents_wrong, order_wrong, status_wrong, residue_wrong,
		paused_wrong, late_wrong, err);
	for (i = 0; i < nr_lines; i++)
		line_close(&lines[i]);
	kfree(lines);
	return err;
}

static void __exit burst_exit(void)
{
}

module_init(burst_init);
module_exit(burst_exit);

MODULE_DESCRIPTION("Test client of DMA engines");
MODULE_LICENSE("GPL");
