// SPDX-License-Identifier: GPL-2.0-or-later
/* The orders' file: what is written is read again, and what is malformed is left out alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "state.h"
#include "util.h"

struct fixture {
	char path[64];
	struct state state;
	unsigned int findings;
};

static void report(void *data, bool error, const char *message)
{
	struct fixture *f = data;

	assert_false(error);
	assert_non_null(strstr(message, f->path));
	f->findings++;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	const char *tmp = getenv("TMPDIR");
	int fd;

	if (!f)
		return -1;
	snprintf(f->path, sizeof(f->path), "%s/migbatch.XXXXXX", tmp ? tmp : "/tmp");
	fd = mkstemp(f->path);
	if (fd >= 0)
		close(fd);
	*state = f;
	return fd < 0 ? -1 : 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	unlink(f->path);
	state_free(&f->state);
	free(f);
	return 0;
}

static void write_file(const struct fixture *f, const char *text)
{
	FILE *file = fopen(f->path, "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void test_no_file(void **state)
{
	struct fixture *f = *state;

	unlink(f->path);
	assert_int_equal(state_load(&f->state, f->path, report, f), 0);
	assert_null(f->state.policy);
	assert_int_equal(f->state.overrides.nr, 0);
	assert_int_equal(f->findings, 0);
}

static void test_round_trip(void **state)
{
	struct target a = { 500 * NSEC_PER_USEC, 99900 }, none = { 0, TARGET_PCT_DEFAULT };
	struct fixture *f = *state;
	struct state read;

	f->state.policy = strdup("policy_fixed");
	override_set(&f->state.overrides, "/a \"quoted\".slice/ä", &a);
	override_set(&f->state.overrides, "/b", &none);
	assert_int_equal(state_save(&f->state, f->path), 0);

	assert_int_equal(state_load(&read, f->path, report, f), 0);
	assert_string_equal(read.policy, "policy_fixed");
	assert_int_equal(read.overrides.nr, 2);
	assert_int_equal(override_find(&read.overrides, "/a \"quoted\".slice/ä")->target.ns, a.ns);
	assert_int_equal(override_find(&read.overrides, "/a \"quoted\".slice/ä")->target.pct_milli,
			 a.pct_milli);
	assert_int_equal(override_find(&read.overrides, "/b")->target.ns, 0);
	assert_int_equal(f->findings, 0);
	state_free(&read);
}

static void test_stopped_is_kept(void **state)
{
	struct fixture *f = *state;
	struct state read;

	f->state.policy = strdup("");
	assert_int_equal(state_save(&f->state, f->path), 0);
	assert_int_equal(state_load(&read, f->path, report, f), 0);
	assert_string_equal(read.policy, "");
	state_free(&read);
}

static void test_malformed_entries_are_left_out(void **state)
{
	struct fixture *f = *state;

	write_file(f, "{ \"policy\": \"../evil\", \"targets\": { \"/a\": \"target=1ms\","
		      " \"/b\": \"target=1\", \"c\": \"target=1ms\", \"/d\": 5 } }");
	assert_int_equal(state_load(&f->state, f->path, report, f), 0);
	assert_null(f->state.policy);
	assert_int_equal(f->state.overrides.nr, 1);
	assert_non_null(override_find(&f->state.overrides, "/a"));
	assert_int_equal(f->findings, 4);
}

static void test_garbage(void **state)
{
	static const char *const garbage[] = { "", "{", "[]", "5", "null", "\x01\x02" };
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(garbage); i++) {
		write_file(f, garbage[i]);
		f->findings = 0;
		assert_int_equal(state_load(&f->state, f->path, report, f), 0);
		assert_int_equal(f->state.overrides.nr, 0);
		assert_int_equal(f->findings, 1);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_no_file),
		TEST(test_round_trip),
		TEST(test_stopped_is_kept),
		TEST(test_malformed_entries_are_left_out),
		TEST(test_garbage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
