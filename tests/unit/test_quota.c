// SPDX-License-Identifier: GPL-2.0-or-later
/* The log under a thousand cgroups that miss their targets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "quota.h"

#define START (1000 * NSEC_PER_SEC)

static void test_few_lines_pass(void **state)
{
	struct quota q = { 0 };

	(void)state;
	for (int i = 0; i < 100; i++)
		assert_true(quota_take(&q, QUOTA_MISSED, START + i * NSEC_PER_SEC));
	assert_null(quota_summary(&q, START + 1000 * NSEC_PER_SEC));
}

static void test_a_thousand_at_once(void **state)
{
	struct quota q = { 0 };
	char *text;
	int lines = 0;

	(void)state;
	for (int i = 0; i < 1000; i++)
		lines += quota_take(&q, QUOTA_MISSED, START);
	assert_int_equal(lines, QUOTA_LINES);
	quota_hold(&q, QUOTA_OVER);
	assert_null(quota_summary(&q, START + QUOTA_WINDOW_NS - 1));
	text = quota_summary(&q, START + QUOTA_WINDOW_NS);
	assert_string_equal(text, "980 targets that began to be missed, 1 of such misses over");
	free(text);
	assert_null(quota_summary(&q, START + 3 * QUOTA_WINDOW_NS));
}

/* For ever so many changes, an hour has a bounded number of lines, summaries among them. */
static void test_an_hour(void **state)
{
	uint64_t lines = 0, held = 0, hour = 3600 * NSEC_PER_SEC;
	struct quota q = { 0 };

	(void)state;
	for (uint64_t t = START; t < START + hour; t += 100 * NSEC_PER_MSEC) {
		char *text = quota_summary(&q, t);

		lines += text != NULL;
		free(text);
		for (int i = 0; i < 100; i++)
			if (quota_take(&q, i % QUOTA_KINDS, t))
				lines++;
			else
				held++;
	}
	assert_in_range(lines, 1, (QUOTA_LINES + 1) * (hour / QUOTA_WINDOW_NS + 1));
	assert_true(held > 3000000);
}

/* Counts of any size fit into the line. */
static void test_extremes(void **state)
{
	struct quota q = { .lines = QUOTA_LINES, .start_ns = START };
	char *text;

	(void)state;
	for (int i = 0; i < QUOTA_KINDS; i++)
		q.held[i] = UINT64_MAX;
	text = quota_summary(&q, UINT64_MAX);
	assert_non_null(strstr(text, "attributes refused"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_few_lines_pass),
		cmocka_unit_test(test_a_thousand_at_once),
		cmocka_unit_test(test_an_hour),
		cmocka_unit_test(test_extremes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
