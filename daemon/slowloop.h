/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The slow loop: corrects the target that the policy aims at, by what share of batches missed the
 * real one. The policy's model is fast and bounds every batch from the first; what it gets wrong
 * for a cgroup (a tail that its mean does not show) is mended here.
 *
 * Pure: numbers and times in, a scale out.
 */
#ifndef MIGBATCH_SLOWLOOP_H
#define MIGBATCH_SLOWLOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "util.h"

#define SCALE_NONE 1000		/* no correction, in 1/1000 */
#define SCALE_MIN 100		/* MB_SCALE_MIN: the policy reads less as this */

/*
 * Smaller batches cost throughput. When even the smallest scale does not help, something else than
 * the size of batches makes them late (a task that is preempted, say), and nothing is gained by
 * paying for it: the correction is given up for so long, twice as long each time.
 */
#define GIVE_UP_MIN_NS (60 * NSEC_PER_SEC)
#define GIVE_UP_MAX_NS (960 * NSEC_PER_SEC)

/* Time that a cut must have had to show its effect before the next one. */
#define CUT_EVERY_NS (500 * NSEC_PER_MSEC)
/* Time without a raise after a cut; doubles whenever a raise is answered by a new cut soon. */
#define HOLD_MIN_NS (5 * NSEC_PER_SEC)
#define HOLD_MAX_NS (80 * NSEC_PER_SEC)
/* Without samples nothing is known: the scale stays this long, then drifts back to none. */
#define IDLE_NS (60 * NSEC_PER_SEC)
#define IDLE_STEP_NS (10 * NSEC_PER_SEC)

struct slowloop {
	uint32_t scale;		/* in 1/1000, 0 is read as SCALE_NONE */
	uint64_t samples;	/* of the window that is being judged */
	uint64_t misses;
	bool limited;		/* the target was what bounded some batch of the window */
	uint64_t window_ns;	/* when the window began */
	uint64_t cut_ns;	/* last cut, 0: never */
	uint64_t raise_ns;	/* last raise, 0: never */
	uint64_t hold_ns;
	uint64_t first_share;	/* of misses, in 1/1000, that led to the first of a row of cuts */
	uint64_t give_up_ns;	/* how long the last giving up was for */
	uint64_t until_ns;	/* no cuts before */
	uint64_t sample_ns;	/* when samples were last seen */
};

struct slowloop_input {
	uint64_t now_ns;
	uint32_t pct_milli;	/* share of batches that must stay below the target */
	uint64_t samples;	/* batches finished since the last round */
	uint64_t misses;	/* of these, over the target */
	bool limited;		/* the policy's last limit was the target */
};

enum slowloop_step {
	SLOWLOOP_KEEP,		/* not enough seen to say anything */
	SLOWLOOP_GOOD,		/* a whole window within the share, nothing to change */
	SLOWLOOP_RAISE,		/* the same, and the correction was relaxed */
	SLOWLOOP_CUT,		/* too many misses, the target was tightened */
	SLOWLOOP_FLOOR,		/* too many misses, and no more to be done about it now */
	SLOWLOOP_GIVE_UP,	/* too many misses, and cutting did not help */
	SLOWLOOP_DRIFT,		/* nothing seen for long, the correction was relaxed */
};

/* One round; the new correction is in @s->scale. */
enum slowloop_step slowloop_round(struct slowloop *s, const struct slowloop_input *in);

#endif /* MIGBATCH_SLOWLOOP_H */
