// SPDX-License-Identifier: GPL-2.0-or-later
/* The slow loop's law: step response, noise, limit cycles, silence, extremes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "slowloop.h"

#define START (1000 * NSEC_PER_SEC)
#define ROUND (100 * NSEC_PER_MSEC)

static struct slowloop_input input(uint64_t now, uint64_t samples, uint64_t misses)
{
	return (struct slowloop_input){
		.now_ns = now,
		.pct_milli = 99000,
		.samples = samples,
		.misses = misses,
		.limited = true,
	};
}

static void test_no_samples_no_change(void **state)
{
	struct slowloop s = { 0 };

	(void)state;
	for (uint64_t t = START; t < START + 10 * NSEC_PER_SEC; t += ROUND) {
		struct slowloop_input in = input(t, 0, 0);

		assert_int_equal(slowloop_round(&s, &in), SLOWLOOP_KEEP);
		assert_int_equal(s.scale, SCALE_NONE);
	}
}

/* One miss in a few batches is no proof of more than one in a hundred. */
static void test_one_early_miss_is_no_proof(void **state)
{
	struct slowloop s = { 0 };
	struct slowloop_input in = input(START, 5, 1);

	(void)state;
	assert_int_equal(slowloop_round(&s, &in), SLOWLOOP_KEEP);
	in = input(START + ROUND, 5, 0);
	assert_int_equal(slowloop_round(&s, &in), SLOWLOOP_KEEP);
	assert_int_equal(s.scale, SCALE_NONE);
}

static void test_clear_miss_halves_at_once(void **state)
{
	struct slowloop s = { 0 };
	struct slowloop_input in = input(START, 10, 5);

	(void)state;
	assert_int_equal(slowloop_round(&s, &in), SLOWLOOP_CUT);
	assert_int_equal(s.scale, 500);
}

static void test_no_two_cuts_within_half_a_second(void **state)
{
	struct slowloop s = { 0 };
	uint64_t last = 0;
	int cuts = 0;

	(void)state;
	for (uint64_t t = START; t < START + 4 * NSEC_PER_SEC; t += ROUND / 10) {
		struct slowloop_input in = input(t, 10, 10);

		if (slowloop_round(&s, &in) != SLOWLOOP_CUT)
			continue;
		if (cuts++)
			assert_true(t - last >= CUT_EVERY_NS);
		last = t;
	}
	assert_int_equal(cuts, 4);	/* 500, 250, 125, 100 */
}

/* Nothing is gained at the smallest scale: throughput must not be paid for it. */
static void test_gives_up_what_does_not_help(void **state)
{
	uint64_t small = 0, steps = 0, minutes = 60;
	struct slowloop s = { 0 };

	(void)state;
	for (uint64_t t = START; t < START + minutes * 60 * NSEC_PER_SEC; t += ROUND) {
		struct slowloop_input in = input(t, 10, 5);

		slowloop_round(&s, &in);
		steps++;
		small += s.scale < SCALE_NONE;
	}
	assert_true(small * 100 < steps);	/* less than 1 % of the time */
}

/* Out of reach, but much better than without: kept. */
static void test_keeps_what_helps(void **state)
{
	struct slowloop s = { 0 };

	(void)state;
	for (uint64_t t = START; t < START + 600 * NSEC_PER_SEC; t += ROUND) {
		struct slowloop_input in = input(t, 10, s.scale == SCALE_MIN ? 1 : 8);

		slowloop_round(&s, &in);
	}
	assert_int_equal(s.scale, SCALE_MIN);
}

static void test_floor_is_told(void **state)
{
	struct slowloop s = { .scale = SCALE_MIN, .first_share = 900 };
	struct slowloop_input in = input(START, 100, 50);

	(void)state;
	assert_int_equal(slowloop_round(&s, &in), SLOWLOOP_FLOOR);
	assert_int_equal(s.scale, SCALE_MIN);
}

/* Exactly the tolerated share is good, for any percentage. */
static void test_tolerated_share(void **state)
{
	static const struct {
		uint32_t pct_milli;
		uint64_t samples;
		uint64_t misses;
	} good[] = {
		{ 99000, 1000, 10 }, { 90000, 1000, 100 }, { 50000, 1000, 500 },
		{ 99900, 10000, 10 }, { 100000, 10000, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		struct slowloop s = { 0 };
		struct slowloop_input in = input(START, good[i].samples, good[i].misses);

		in.pct_milli = good[i].pct_milli;
		assert_int_not_equal(slowloop_round(&s, &in), SLOWLOOP_CUT);

		s = (struct slowloop){ 0 };
		in.misses++;
		assert_int_equal(slowloop_round(&s, &in), SLOWLOOP_CUT);
	}
}

static void test_raise_is_slow_and_late(void **state)
{
	struct slowloop s = { 0 };
	struct slowloop_input in = input(START, 100, 50);
	uint64_t first = 0, full = 0;

	(void)state;
	assert_int_equal(slowloop_round(&s, &in), SLOWLOOP_CUT);
	for (uint64_t t = START + ROUND; t < START + 60 * NSEC_PER_SEC; t += ROUND) {
		uint32_t before = s.scale;

		in = input(t, 100, 0);
		if (slowloop_round(&s, &in) == SLOWLOOP_RAISE) {
			first = first ? first : t;
			assert_true(s.scale - before <= before / 16 + 1);
		}
		if (!full && s.scale == SCALE_NONE)
			full = t;
	}
	assert_true(first >= START + HOLD_MIN_NS);
	assert_true(full > first + 4 * NSEC_PER_SEC);
}

static void test_no_raise_when_the_target_did_not_bound(void **state)
{
	struct slowloop s = { 0 };
	struct slowloop_input in = input(START, 100, 50);

	(void)state;
	slowloop_round(&s, &in);
	for (uint64_t t = START + ROUND; t < START + 60 * NSEC_PER_SEC; t += ROUND) {
		in = input(t, 100, 0);
		in.limited = false;
		assert_int_not_equal(slowloop_round(&s, &in), SLOWLOOP_RAISE);
	}
	assert_int_equal(s.scale, 500);
}

/*
 * A cgroup that misses whenever the scale is above 600: the loop must settle below, and disturb it
 * ever more rarely instead of swinging for ever.
 */
static void test_limit_cycle_fades(void **state)
{
	struct slowloop s = { 0 };
	unsigned int early = 0, late = 0;
	uint64_t minute = 60 * NSEC_PER_SEC;

	(void)state;
	for (uint64_t t = START; t < START + 20 * minute; t += ROUND) {
		struct slowloop_input in = input(t, 20, s.scale > 600 || !s.scale ? 10 : 0);

		if (slowloop_round(&s, &in) != SLOWLOOP_CUT)
			continue;
		if (t < START + 5 * minute)
			early++;
		else if (t >= START + 15 * minute)
			late++;
	}
	assert_true(early <= 20);
	assert_true(late < early);
	assert_true(late <= 5);
}

/* Misses at a tenth of the tolerated share, at random, are left alone. */
static void test_noise_below_the_share(void **state)
{
	struct slowloop s = { 0 };
	uint32_t seed = 1;
	int cuts = 0;

	(void)state;
	for (uint64_t t = START; t < START + 600 * NSEC_PER_SEC; t += ROUND) {
		struct slowloop_input in = input(t, 100, 0);

		for (int i = 0; i < 100; i++) {
			seed = seed * 1103515245 + 12345;
			in.misses += (seed >> 8) % 1000 < 1;
		}
		cuts += slowloop_round(&s, &in) == SLOWLOOP_CUT;
	}
	assert_true(cuts <= 1);
}

static void test_silence_keeps_then_drifts_back(void **state)
{
	struct slowloop s = { 0 };
	struct slowloop_input in = input(START, 100, 50);
	uint64_t t;

	(void)state;
	slowloop_round(&s, &in);
	for (t = START + ROUND; t < START + IDLE_NS; t += ROUND) {
		in = input(t, 0, 0);
		assert_int_equal(slowloop_round(&s, &in), SLOWLOOP_KEEP);
	}
	assert_int_equal(s.scale, 500);
	for (; t < START + 10 * IDLE_NS; t += ROUND) {
		in = input(t, 0, 0);
		slowloop_round(&s, &in);
	}
	assert_int_equal(s.scale, SCALE_NONE);
}

static void test_extremes(void **state)
{
	struct slowloop s = { 0 };
	struct slowloop_input in = input(0, UINT64_MAX / 200000, 0);

	(void)state;
	assert_int_not_equal(slowloop_round(&s, &in), SLOWLOOP_CUT);
	in = input(1, 1, 1000);		/* more misses than samples cannot be: read as all */
	slowloop_round(&s, &in);
	assert_true(s.scale >= SCALE_MIN && s.scale <= SCALE_NONE);

	s = (struct slowloop){ 0 };
	in = input(UINT64_MAX - NSEC_PER_SEC, 10, 10);
	assert_int_equal(slowloop_round(&s, &in), SLOWLOOP_CUT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_samples_no_change),
		cmocka_unit_test(test_one_early_miss_is_no_proof),
		cmocka_unit_test(test_clear_miss_halves_at_once),
		cmocka_unit_test(test_no_two_cuts_within_half_a_second),
		cmocka_unit_test(test_gives_up_what_does_not_help),
		cmocka_unit_test(test_keeps_what_helps),
		cmocka_unit_test(test_floor_is_told),
		cmocka_unit_test(test_tolerated_share),
		cmocka_unit_test(test_raise_is_slow_and_late),
		cmocka_unit_test(test_no_raise_when_the_target_did_not_bound),
		cmocka_unit_test(test_limit_cycle_fades),
		cmocka_unit_test(test_noise_below_the_share),
		cmocka_unit_test(test_silence_keeps_then_drifts_back),
		cmocka_unit_test(test_extremes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
