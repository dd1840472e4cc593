// SPDX-License-Identifier: GPL-2.0-or-later
/* Quantiles of log2 histograms, and what is made of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "histogram.h"

static void count(struct mb_hist *h, uint64_t ns)
{
	int slot = ns ? 63 - __builtin_clzll(ns) : 0;

	h->slots[slot < MB_HIST_SLOTS ? slot : MB_HIST_SLOTS - 1]++;
	h->count++;
	h->sum_ns += ns;
	if (ns > h->max_ns)
		h->max_ns = ns;
}

static void test_empty(void **state)
{
	struct mb_hist h = { 0 };

	(void)state;
	assert_int_equal(hist_quantile(&h, 99000), 0);
	assert_int_equal(hist_meets(&h, 99000, 1), 1);
}

static void test_quantile_is_in_the_right_slot(void **state)
{
	struct mb_hist h = { 0 };

	(void)state;
	for (int i = 0; i < 99; i++)
		count(&h, 1000);	/* [512, 1024) */
	count(&h, 1000000);		/* [524288, 1048576) */

	assert_in_range(hist_quantile(&h, 50000), 512, 1023);
	assert_in_range(hist_quantile(&h, 99000), 512, 1023);
	assert_in_range(hist_quantile(&h, 99001), 524288, 1000000);
	/* the largest value seen bounds the guess */
	assert_int_equal(hist_quantile(&h, 100000), 1000000);
}

static void test_meets(void **state)
{
	struct mb_hist h = { 0 };

	(void)state;
	for (int i = 0; i < 100; i++)
		count(&h, 600000);	/* [524288, 1048576), largest 600000 */
	assert_int_equal(hist_meets(&h, 99000, 500000), 0);
	assert_int_equal(hist_meets(&h, 99000, 600000), 1);
	assert_int_equal(hist_meets(&h, 99000, 550000), -1);
	assert_int_equal(hist_meets(&h, 99000, 2000000), 1);
}

static void test_last_slot_has_no_end(void **state)
{
	struct mb_hist h = { 0 };

	(void)state;
	count(&h, 1ULL << 45);
	assert_int_equal(hist_quantile(&h, 100000), 1ULL << 45);
	assert_int_equal(hist_meets(&h, 99000, 1ULL << 38), 0);
}

static void test_since(void **state)
{
	struct mb_hist before = { 0 }, now = { 0 }, delta;

	(void)state;
	count(&before, 100);
	now = before;
	count(&now, 5000);
	hist_since(&delta, &now, &before);
	assert_int_equal(delta.count, 1);
	assert_int_equal(delta.sum_ns, 5000);
	assert_in_range(hist_quantile(&delta, 50000), 4096, 5000);

	/* emptied in between: all that is there now is new */
	hist_since(&delta, &before, &now);
	assert_int_equal(delta.count, 1);
	assert_int_equal(delta.sum_ns, 100);
}

static void test_add(void **state)
{
	struct mb_hist a = { 0 }, b = { 0 };

	(void)state;
	count(&a, 10);
	count(&b, 1000);
	count(&b, 10);
	hist_add(&a, &b);
	assert_int_equal(a.count, 3);
	assert_int_equal(a.slots[3], 2);
	assert_int_equal(a.max_ns, 1000);
	assert_int_equal(a.sum_ns, 1020);
}

static void test_advice(void **state)
{
	(void)state;
	assert_int_equal(batch_advice(512, 1000, 1000), 512);
	assert_int_equal(batch_advice(512, 1000, 500), 256);
	assert_int_equal(batch_advice(512, 1000, 499), 128);
	assert_int_equal(batch_advice(512, 1000, 4000), 2048);
	assert_int_equal(batch_advice(512, 1000000, 1), 1);
	assert_int_equal(batch_advice(512, 0, 1), 512);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_quantile_is_in_the_right_slot),
		cmocka_unit_test(test_meets),
		cmocka_unit_test(test_last_slot_has_no_end),
		cmocka_unit_test(test_since),
		cmocka_unit_test(test_add),
		cmocka_unit_test(test_advice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
