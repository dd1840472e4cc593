/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arithmetic on log2 histograms of times, as struct mb_hist has them. Pure. */
#ifndef MIGBATCH_HISTOGRAM_H
#define MIGBATCH_HISTOGRAM_H

#include <stdint.h>

#include <linux/types.h>
#include <migbatch/abi.h>

void hist_add(struct mb_hist *to, const struct mb_hist *from);

/*
 * What was counted between two readings. max_ns stays that of all times, and counts that went down
 * (the map was emptied in between) give the later reading.
 */
void hist_since(struct mb_hist *delta, const struct mb_hist *now, const struct mb_hist *before);

/*
 * The value that a share of @milli / 100000 of all values do not exceed, 0 of none at all. Within
 * a slot values are taken as evenly spread, so it is exact to the slot and a guess within.
 */
uint64_t hist_quantile(const struct mb_hist *h, uint32_t milli);

/*
 * Whether a share @milli of the values is at most @ns: 1 yes, 0 no, -1 when the slot that holds
 * the quantile also holds @ns, so that the counts cannot tell.
 */
int hist_meets(const struct mb_hist *h, uint32_t milli, uint64_t ns);

/*
 * The batch that would have met @target_ns, when one of @pages had @ns at the wanted percentile:
 * the delay grows with the batch, so in proportion; at least 1, in steps that say no more than is
 * known (a power of two).
 */
uint64_t batch_advice(uint64_t pages, uint64_t ns, uint64_t target_ns);

#endif /* MIGBATCH_HISTOGRAM_H */
