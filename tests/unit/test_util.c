// SPDX-License-Identifier: GPL-2.0-or-later
/* Times with units, and the text of a target. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "target.h"
#include "util.h"

static void test_time_needs_unit(void **state)
{
	static const char *const bad[] = {
		"500", "", "us", "-1us", "+1us", "1.us", ".5us", "5 5us", "5uss", "5m", "5US",
		"0x5us", "1e3us", " 5us",
	};
	uint64_t ns;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(parse_time(bad[i], &ns), -EINVAL);
}

static void test_time_units(void **state)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} good[] = {
		{ "1ns", 1 }, { "500us", 500000 }, { "2ms", 2000000 }, { "1s", 1000000000 },
		{ "1.5ms", 1500000 }, { "0.25us", 250 }, { "0s", 0 }, { "3 ms", 3000000 },
		{ "1.123456789s", 1123456789 }, { "1.1234567891s", 1123456789 },
	};
	uint64_t ns;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		assert_int_equal(parse_time(good[i].text, &ns), 0);
		assert_int_equal(ns, good[i].ns);
	}
}

static void test_time_overflow(void **state)
{
	uint64_t ns;

	(void)state;
	assert_int_equal(parse_time("99999999999999999999s", &ns), -ERANGE);
	assert_int_equal(parse_time("9999999999999s", &ns), -ERANGE);
}

static void test_time_format_round_trip(void **state)
{
	static const uint64_t values[] = {
		0, 1, 999, 1000, 1500, 500000, 1000000, 1500000, 1000000000, 1500000000,
	};
	char text[TIME_TEXT_MAX];
	uint64_t ns;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		assert_int_equal(parse_time(format_time(text, values[i]), &ns), 0);
		assert_int_equal(ns, values[i]);
	}
	assert_string_equal(format_time(text, 500000), "500us");
	assert_string_equal(format_time(text, 1500000), "1500us");
	assert_string_equal(format_time(text, 2000000000), "2s");
}

static void test_u32(void **state)
{
	uint32_t n;

	(void)state;
	assert_int_equal(parse_u32("0", &n), 0);
	assert_int_equal(parse_u32("4294967295", &n), 0);
	assert_int_equal(n, UINT32_MAX);
	assert_int_equal(parse_u32("4294967296", &n), -EINVAL);
	assert_int_equal(parse_u32("-1", &n), -EINVAL);
	assert_int_equal(parse_u32("1k", &n), -EINVAL);
	assert_int_equal(parse_u32("", &n), -EINVAL);
}

static void test_target_text(void **state)
{
	char why[256], text[TARGET_TEXT_MAX];
	struct target t;

	(void)state;
	assert_int_equal(target_parse("target=500us pct=99", &t, why, sizeof(why)), 0);
	assert_int_equal(t.ns, 500000);
	assert_int_equal(t.pct_milli, 99000);
	assert_string_equal(target_format(text, &t), "target=500us pct=99");

	/* order and blanks do not matter, the percentage may be left out */
	assert_int_equal(target_parse("  pct=99.95%\ttarget=1.5ms ", &t, why, sizeof(why)), 0);
	assert_int_equal(t.ns, 1500000);
	assert_int_equal(t.pct_milli, 99950);
	assert_string_equal(target_format(text, &t), "target=1500us pct=99.95");
	assert_int_equal(target_parse("target=2ms", &t, why, sizeof(why)), 0);
	assert_int_equal(t.pct_milli, TARGET_PCT_DEFAULT);

	assert_int_equal(target_parse("target=none", &t, why, sizeof(why)), 0);
	assert_int_equal(t.ns, 0);
	assert_string_equal(target_format(text, &t), "target=none");
}

static void test_target_text_refused(void **state)
{
	static const struct {
		const char *text;
		const char *named;	/* what the message must name */
	} bad[] = {
		{ "", "target=" },
		{ "pct=99", "target=" },
		{ "500us", "500us" },
		{ "target=500", "500" },
		{ "target=", "time with unit" },
		{ "target=0us", "0us" },
		{ "target=999ns", "999ns" },
		{ "target=11s", "11s" },
		{ "target=1ms pct=49", "49" },
		{ "target=1ms pct=101", "101" },
		{ "target=1ms pct=", "percentage" },
		{ "target=1ms pct=9x", "9x" },
		{ "target=1ms latency=3", "latency=3" },
	};
	struct target t = { .ns = 7, .pct_milli = 7 };
	char why[256];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		why[0] = 0;
		assert_int_equal(target_parse(bad[i].text, &t, why, sizeof(why)), -EINVAL);
		assert_non_null(strstr(why, bad[i].named));
		assert_int_equal(t.ns, 7);	/* untouched */
	}
}

static void test_target_limits(void **state)
{
	char why[256];
	struct target t;

	(void)state;
	assert_int_equal(target_parse("target=1us pct=50", &t, why, sizeof(why)), 0);
	assert_int_equal(target_parse("target=10s pct=100", &t, why, sizeof(why)), 0);
	assert_int_equal(t.pct_milli, 100000);
	assert_int_equal(target_parse("target=10.1s", &t, why, sizeof(why)), -EINVAL);
	assert_int_equal(target_parse("target=1ms pct=100.1", &t, why, sizeof(why)), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_time_needs_unit),
		cmocka_unit_test(test_time_units),
		cmocka_unit_test(test_time_overflow),
		cmocka_unit_test(test_time_format_round_trip),
		cmocka_unit_test(test_u32),
		cmocka_unit_test(test_target_text),
		cmocka_unit_test(test_target_text_refused),
		cmocka_unit_test(test_target_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
