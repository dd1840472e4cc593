// SPDX-License-Identifier: GPL-2.0-or-later
#include "slowloop.h"

#define PCT_ALL 100000		/* 100 % in pct_milli */

/*
 * Misses that a window may have before it is bad: with fewer, chance alone would cut a cgroup that
 * misses a tenth of what it may every other minute.
 */
#define WINDOW_MISSES 4
/* Bounds the wait for a full window at 99.9 % and above. */
#define WINDOW_SAMPLES_MAX 4000

/* Samples after which a window with no more misses than that is good. */
static uint64_t window_samples(uint32_t pct_milli)
{
	uint64_t rest = PCT_ALL - pct_milli;

	if (!rest)
		return WINDOW_SAMPLES_MAX;
	return min_u64(WINDOW_SAMPLES_MAX, (WINDOW_MISSES * PCT_ALL + rest - 1) / rest);
}

/* Samples at the smallest scale before it is said whether that one helped. */
#define FLOOR_SAMPLES 20

static uint64_t tolerated(uint64_t samples, uint32_t pct_milli)
{
	return samples * (PCT_ALL - pct_milli) / PCT_ALL;
}

static void window_restart(struct slowloop *s, uint64_t now_ns)
{
	s->samples = 0;
	s->misses = 0;
	s->limited = false;
	s->window_ns = now_ns;
}

static void cut(struct slowloop *s, uint64_t now_ns)
{
	bool regrown = s->raise_ns && s->raise_ns > s->cut_ns &&
		       now_ns - s->raise_ns < 2 * s->hold_ns;

	s->hold_ns = regrown ? min_u64(2 * s->hold_ns, HOLD_MAX_NS) :
			       max_u64(s->hold_ns, HOLD_MIN_NS);
	s->scale = max_u64(s->scale / 2, SCALE_MIN);
	s->cut_ns = now_ns;
}

static void give_up(struct slowloop *s, uint64_t now_ns)
{
	s->scale = SCALE_NONE;
	s->give_up_ns = min_u64(max_u64(2 * s->give_up_ns, GIVE_UP_MIN_NS), GIVE_UP_MAX_NS);
	s->until_ns = now_ns + s->give_up_ns;
}

/* A window with too many misses. */
static enum slowloop_step punish(struct slowloop *s, uint64_t now_ns)
{
	uint64_t share = 1000 * s->misses / s->samples;
	enum slowloop_step step = SLOWLOOP_CUT;

	if (s->until_ns && now_ns < s->until_ns) {
		step = SLOWLOOP_FLOOR;
	} else if (s->scale > SCALE_MIN) {
		if (s->scale == SCALE_NONE)
			s->first_share = share;
		cut(s, now_ns);
	} else if (s->samples < FLOOR_SAMPLES) {
		return SLOWLOOP_KEEP;
	} else if (4 * share < 3 * s->first_share) {
		step = SLOWLOOP_FLOOR;
	} else {
		give_up(s, now_ns);
		step = SLOWLOOP_GIVE_UP;
	}
	window_restart(s, now_ns);
	return step;
}

static bool raise_scale(struct slowloop *s, uint64_t now_ns)
{
	if (s->scale >= SCALE_NONE)
		return false;
	s->scale = min_u64(s->scale + max_u64(s->scale / 16, 1), SCALE_NONE);
	s->raise_ns = now_ns;
	if (s->scale == SCALE_NONE)
		s->hold_ns = 0;
	return true;
}

static enum slowloop_step idle(struct slowloop *s, uint64_t now_ns)
{
	if (now_ns - s->sample_ns < IDLE_NS)
		return SLOWLOOP_KEEP;
	window_restart(s, now_ns);
	if (s->raise_ns && now_ns - s->raise_ns < IDLE_STEP_NS)
		return SLOWLOOP_KEEP;
	return raise_scale(s, now_ns) ? SLOWLOOP_DRIFT : SLOWLOOP_KEEP;
}

enum slowloop_step slowloop_round(struct slowloop *s, const struct slowloop_input *in)
{
	uint64_t need = window_samples(in->pct_milli);
	bool may_raise;

	if (!s->scale) {
		s->scale = SCALE_NONE;
		s->sample_ns = in->now_ns;
		window_restart(s, in->now_ns);
	}
	if (!in->samples)
		return idle(s, in->now_ns);

	s->sample_ns = in->now_ns;
	s->samples += in->samples;
	s->misses += min_u64(in->misses, in->samples);
	s->limited |= in->limited;

	/*
	 * More misses than a whole window may have: enough is known before the window is full.
	 * Right after a cut they may be of batches that were already on their way, so wait.
	 */
	if (s->misses > tolerated(max_u64(s->samples, need), in->pct_milli)) {
		if (s->cut_ns && in->now_ns - s->cut_ns < CUT_EVERY_NS)
			return SLOWLOOP_KEEP;
		return punish(s, in->now_ns);
	}

	if (s->samples < need || in->now_ns - s->window_ns < CUT_EVERY_NS)
		return SLOWLOOP_KEEP;

	/* A full, good window. A limit that was not reached says nothing about a higher one. */
	may_raise = s->limited && (!s->cut_ns || in->now_ns - s->cut_ns >= s->hold_ns);
	window_restart(s, in->now_ns);
	return may_raise && raise_scale(s, in->now_ns) ? SLOWLOOP_RAISE : SLOWLOOP_GOOD;
}
