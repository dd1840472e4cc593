// SPDX-License-Identifier: GPL-2.0-or-later
#include "histogram.h"
#include "util.h"

#define MILLI_ALL 100000

void hist_add(struct mb_hist *to, const struct mb_hist *from)
{
	for (int i = 0; i < MB_HIST_SLOTS; i++)
		to->slots[i] += from->slots[i];
	to->count += from->count;
	to->sum_ns += from->sum_ns;
	to->max_ns = max_u64(to->max_ns, from->max_ns);
}

void hist_since(struct mb_hist *delta, const struct mb_hist *now, const struct mb_hist *before)
{
	*delta = *now;
	if (now->count < before->count)
		return;
	for (int i = 0; i < MB_HIST_SLOTS; i++)
		delta->slots[i] -= min_u64(before->slots[i], now->slots[i]);
	delta->count -= before->count;
	delta->sum_ns -= min_u64(before->sum_ns, now->sum_ns);
}

static uint64_t total(const struct mb_hist *h)
{
	uint64_t n = 0;

	for (int i = 0; i < MB_HIST_SLOTS; i++)
		n += h->slots[i];
	return n;
}

/* The slot that holds the value of rank @milli; @rank is then the rank within it, from 1. */
static int quantile_slot(const struct mb_hist *h, uint32_t milli, uint64_t *rank)
{
	uint64_t n = total(h);

	if (!n)
		return -1;
	*rank = max_u64(1, (n * milli + MILLI_ALL - 1) / MILLI_ALL);
	for (int i = 0; i < MB_HIST_SLOTS; i++) {
		if (*rank <= h->slots[i])
			return i;
		*rank -= h->slots[i];
	}
	return MB_HIST_SLOTS - 1;
}

static uint64_t slot_low(int slot)
{
	return slot ? 1ULL << slot : 0;
}

/* Values of the last slot have no bound but the largest ever seen. */
static uint64_t slot_high(const struct mb_hist *h, int slot)
{
	uint64_t high = (2ULL << slot) - 1;

	if (slot == MB_HIST_SLOTS - 1)
		return max_u64(h->max_ns, slot_low(slot));
	return h->max_ns > slot_low(slot) ? min_u64(high, h->max_ns) : high;
}

uint64_t hist_quantile(const struct mb_hist *h, uint32_t milli)
{
	uint64_t rank, low;
	int slot = quantile_slot(h, milli, &rank);

	if (slot < 0)
		return 0;
	low = slot_low(slot);
	return low + (double)(slot_high(h, slot) - low) * rank / h->slots[slot];
}

int hist_meets(const struct mb_hist *h, uint32_t milli, uint64_t ns)
{
	uint64_t rank;
	int slot = quantile_slot(h, milli, &rank);

	if (slot < 0 || slot_high(h, slot) <= ns)
		return 1;
	return slot_low(slot) > ns ? 0 : -1;
}

uint64_t batch_advice(uint64_t pages, uint64_t ns, uint64_t target_ns)
{
	uint64_t advice = 1;
	double fit;

	if (!ns)
		return pages;
	fit = (double)pages * target_ns / ns;
	while (advice * 2 <= fit && advice < (1ULL << 30))
		advice *= 2;
	return advice;
}
