// SPDX-License-Identifier: GPL-2.0-or-later
/* From a stats answer to rows: who counts for whom, differences, verdicts. */
#include <json-c/json.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "reading.h"
#include "util.h"

/* A cgroup with @n first-folio delays in [512 us, 1 ms), @n batches of 64 pages in 1 ms each. */
static char *cgroup(uint64_t id, const char *path, const char *owner, int n, const char *more)
{
	_cleanup_free_ char *target = !owner ? str_printf("null") :
		str_printf("{ \"target_ns\": 800000, \"pct_milli\": 99000, \"owner\": \"%s\" }",
			   owner);

	return str_printf("{ \"id\": %llu, \"path\": %s%s%s, \"target\": %s, \"hist\": ["
		"{ \"metric\": \"first\", \"count\": %d, \"sum_ns\": %d, \"max_ns\": 700000,"
		"  \"slots\": [0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,%d] },"
		"{ \"metric\": \"total\", \"count\": %d, \"sum_ns\": %d, \"max_ns\": 1000000,"
		"  \"slots\": [] } ],"
		"\"counts\": [ { \"batches\": %d, \"moved_pages\": %d, \"dma_pages\": %d,"
		"  \"last_batch_pages\": 64, \"last_channels\": 2, \"last_when_ns\": %llu } ] %s }",
		(unsigned long long)id, path ? "\"" : "", path ? path : "null", path ? "\"" : "",
		target, n, n * 600000, n, n, n * 1000000, n, n * 64, n * 32,
		(unsigned long long)id, more);
}

static void parse(struct readings *r, char *a, char *b)
{
	_cleanup_free_ char *text = str_printf("[%s%s%s]", a, b ? "," : "", b ? b : "");
	struct json_object *cgroups = json_tokener_parse(text);

	assert_non_null(cgroups);
	assert_int_equal(readings_parse(r, cgroups, 1), 0);
	json_object_put(cgroups);
	free(a);
	free(b);
}

static void test_children_count_for_the_owner(void **state)
{
	struct readings r;

	(void)state;
	parse(&r, cgroup(2, "/a/b", "/a", 10, ""), cgroup(1, "/a", "/a", 5, ""));
	assert_int_equal(r.nr, 1);
	assert_string_equal(r.list[0].path, "/a");
	assert_int_equal(r.list[0].id, 1);
	assert_int_equal(r.list[0].batches, 15);
	assert_int_equal(r.list[0].first.count, 15);
	assert_int_equal(r.list[0].first.slots[19], 15);
	assert_int_equal(r.list[0].when_ns, 2);
	readings_free(&r);
}

static void test_cgroups_without_target_stand_alone(void **state)
{
	struct readings r;

	(void)state;
	parse(&r, cgroup(2, "/a/b", NULL, 10, ""), cgroup(1, NULL, NULL, 5, ""));
	assert_int_equal(r.nr, 2);
	assert_null(reading_find(&r, 1)->path);
	assert_null(reading_find(&r, 3));
	readings_free(&r);
}

/* The answer of one cgroup alone has no object for its owner. */
static void test_owner_that_is_not_there(void **state)
{
	struct readings r;

	(void)state;
	parse(&r, cgroup(2, "/a/b", "/a", 10, ""), NULL);
	assert_int_equal(r.nr, 1);
	assert_string_equal(r.list[0].path, "/a/b");
	readings_free(&r);
}

static void test_change(void **state)
{
	struct readings before, now;
	struct change c;

	(void)state;
	parse(&before, cgroup(1, "/a", "/a", 10, ""), NULL);
	parse(&now, cgroup(1, "/a", "/a", 30, ""), NULL);
	change_between(&c, &now.list[0], &before.list[0], NSEC_PER_SEC);
	assert_int_equal(c.batches, 20);
	assert_int_equal(c.first.count, 20);
	assert_true(c.dma_share == 0.5);
	/* 64 pages in 1 ms, and not per second of the interval */
	assert_true(c.gb_per_s > 0.2 && c.gb_per_s < 64 * 65536 / 1e6);
	assert_int_equal(c.verdict, VERDICT_MEETS);

	change_between(&c, &now.list[0], &now.list[0], NSEC_PER_SEC);
	assert_int_equal(c.batches, 0);
	assert_int_equal(c.verdict, VERDICT_IDLE);
	assert_int_equal(c.overall, VERDICT_MEETS);

	change_between(&c, &now.list[0], NULL, NSEC_PER_SEC);
	assert_int_equal(c.batches, 30);
	readings_free(&before);
	readings_free(&now);
}

/* The policy's count of misses goes before what the histogram makes of it. */
static void test_verdict_by_misses(void **state)
{
	struct readings r;
	struct change c;

	(void)state;
	parse(&r, cgroup(1, "/a", "/a", 100,
			 ", \"decision\": { \"samples\": 100, \"misses\": 1 }"),
	      cgroup(2, "/b", "/b", 100, ", \"decision\": { \"samples\": 100, \"misses\": 2 }"));
	change_between(&c, &r.list[0], NULL, NSEC_PER_SEC);
	assert_int_equal(c.verdict, VERDICT_MEETS);
	change_between(&c, &r.list[1], NULL, NSEC_PER_SEC);
	assert_int_equal(c.verdict, VERDICT_MISSES);
	readings_free(&r);
}

static void test_no_target_no_verdict(void **state)
{
	struct readings r;
	struct change c;

	(void)state;
	parse(&r, cgroup(1, "/a", NULL, 100, ""), NULL);
	change_between(&c, &r.list[0], NULL, NSEC_PER_SEC);
	assert_int_equal(c.verdict, VERDICT_NO_TARGET);
	assert_int_equal(c.advice, 0);
	readings_free(&r);
}

static void test_malformed_answers(void **state)
{
	struct json_object *cgroups = json_tokener_parse("[{}, {\"hist\": [{}], \"counts\": [{}]}]");
	struct readings r;

	(void)state;
	assert_int_equal(readings_parse(&r, cgroups, 1), 0);
	assert_int_equal(r.nr, 2);
	readings_free(&r);
	json_object_put(cgroups);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_children_count_for_the_owner),
		cmocka_unit_test(test_cgroups_without_target_stand_alone),
		cmocka_unit_test(test_owner_that_is_not_there),
		cmocka_unit_test(test_change),
		cmocka_unit_test(test_verdict_by_misses),
		cmocka_unit_test(test_no_target_no_verdict),
		cmocka_unit_test(test_malformed_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
