// SPDX-License-Identifier: GPL-2.0-or-later
/* Configuration files: what is read from where, and what is said about mistakes. */
#include <errno.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "config.h"
#include "util.h"
#include "version.h"

/* A root directory of its own for each test, and what config_load() said about it. */
struct fixture {
	char root[64];
	struct config config;
	char findings[64][512];
	bool errors[64];
	size_t nr;
};

static void report(void *data, bool error, const char *message)
{
	struct fixture *f = data;

	assert_true(f->nr < ARRAY_SIZE(f->findings));
	snprintf(f->findings[f->nr], sizeof(f->findings[0]), "%s", message);
	f->errors[f->nr++] = error;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	const char *tmp = getenv("TMPDIR");

	if (!f)
		return -1;
	snprintf(f->root, sizeof(f->root), "%s/migbatch.XXXXXX", tmp ? tmp : "/tmp");
	*state = f;
	return mkdtemp(f->root) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	nftw(f->root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	config_free(&f->config);
	free(f);
	return 0;
}

static void make_parents(char *path)
{
	for (char *p = path + 1; *p; p++) {
		if (*p != '/')
			continue;
		*p = 0;
		mkdir(path, 0755);
		*p = '/';
	}
}

static void write_file(struct fixture *f, const char *name, const char *text)
{
	_cleanup_free_ char *path = str_printf("%s/%s", f->root, name);
	FILE *file;

	make_parents(path);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

#define MAIN "etc/migbatch/migbatchd.conf"
#define DROPIN(name) "etc/migbatch/migbatchd.conf.d/" name

static int load(struct fixture *f)
{
	f->nr = 0;
	return config_load(&f->config, f->root, report, f);
}

/* The finding number @i must start with ROOT/@where and contain @what. */
static void expect(struct fixture *f, size_t i, bool error, const char *where, const char *what)
{
	_cleanup_free_ char *start = str_printf("%s/%s: ", f->root, where);

	assert_true(i < f->nr);
	assert_int_equal(f->errors[i], error);
	if (strncmp(f->findings[i], start, strlen(start)) || !strstr(f->findings[i], what))
		fail_msg("'%s' is not about '%s' of %s", f->findings[i], what, start);
}

static void test_defaults(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(load(f), 0);
	assert_int_equal(f->nr, 0);
	assert_int_equal(f->config.mode, MODE_OBSERVE);
	assert_string_equal(f->config.policy, "policy_target");
	assert_string_equal(f->config.policy_dir, MIGBATCH_LIBDIR);
	assert_null(f->config.cgroup_root);
	assert_int_equal(f->config.interval_ns, NSEC_PER_SEC);
	assert_int_equal(f->config.default_target_ns, 0);
	assert_int_equal(f->config.nr_rules, 0);
}

static void test_all_keys(void **state)
{
	struct fixture *f = *state;

	write_file(f, MAIN,
		   "# comment\n"
		   "; comment\n"
		   "\n"
		   "[Daemon]\n"
		   "Mode=control\n"
		   "Policy = policy_fixed\n"
		   "  PolicyDir=/opt/policies\n"
		   "ControlGroupRoot=/cg\n"
		   "Interval=250ms\n"
		   "DefaultTarget=2ms\n"
		   "MaxPages=4096\n"
		   "MaxChannels=8\n"
		   "[Target /a.slice/*]\n"
		   "Target=500us\n"
		   "Percentile=99.9\n");
	assert_int_equal(load(f), 0);
	assert_int_equal(f->nr, 0);
	assert_int_equal(f->config.mode, MODE_CONTROL);
	assert_string_equal(f->config.policy, "policy_fixed");
	assert_string_equal(f->config.policy_dir, "/opt/policies");
	assert_string_equal(f->config.cgroup_root, "/cg");
	assert_int_equal(f->config.interval_ns, 250 * NSEC_PER_MSEC);
	assert_int_equal(f->config.default_target_ns, 2 * NSEC_PER_MSEC);
	assert_int_equal(f->config.max_pages, 4096);
	assert_int_equal(f->config.max_channels, 8);
	assert_int_equal(f->config.nr_rules, 1);
	assert_string_equal(f->config.rules[0].pattern, "/a.slice/*");
	assert_int_equal(f->config.rules[0].target.ns, 500000);
	assert_int_equal(f->config.rules[0].target.pct_milli, 99900);
}

static void test_bad_values(void **state)
{
	/* line after [Daemon], the value that must be named, and a part of what is allowed */
	static const struct {
		const char *line;
		const char *value;
		const char *allowed;
	} bad[] = {
		{ "Mode=on", "Mode=on", "observe, advise or control" },
		{ "Mode=", "Mode=", "observe" },
		{ "Policy=../evil", "../evil", "a-z" },
		{ "PolicyDir=lib", "lib", "absolute path" },
		{ "ControlGroupRoot=cg", "cg", "absolute path" },
		{ "Interval=1", "Interval=1", "with unit" },
		{ "Interval=99ms", "99ms", "100ms to 5s" },
		{ "Interval=6s", "6s", "100ms to 5s" },
		{ "DefaultTarget=500", "500", "with unit" },
		{ "DefaultTarget=0us", "0us", "1us to 10s" },
		{ "MaxPages=262145", "262145", "262144" },
		{ "MaxPages=-1", "-1", "base pages" },
		{ "MaxChannels=257", "257", "256" },
		{ "MaxChannels=all", "all", "channels" },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		_cleanup_free_ char *text = str_printf("\n[Daemon]\n%s\n", bad[i].line);

		write_file(f, MAIN, text);
		assert_int_equal(load(f), -EINVAL);
		assert_int_equal(f->nr, 1);
		expect(f, 0, true, MAIN ":3", bad[i].value);
		expect(f, 0, true, MAIN ":3", bad[i].allowed);
	}
}

static void test_all_mistakes_are_told(void **state)
{
	struct fixture *f = *state;

	write_file(f, MAIN, "[Daemon]\nMode=on\nInterval=1\n[Target /a]\nTarget=1\n");
	write_file(f, DROPIN("x.conf"), "[Target a]\nTarget=1ms\n");
	assert_int_equal(load(f), -EINVAL);
	assert_int_equal(f->nr, 4);
	expect(f, 0, true, MAIN ":2", "Mode=on");
	expect(f, 1, true, MAIN ":3", "Interval=1");
	expect(f, 2, true, MAIN ":5", "Target=1");
	expect(f, 3, true, DROPIN("x.conf") ":1", "[Target a]");
}

static void test_unknown_is_a_warning(void **state)
{
	struct fixture *f = *state;

	write_file(f, MAIN,
		   "Stray=1\n"
		   "[Daemon]\n"
		   "mode=control\n"
		   "Mode=advise\n"
		   "[Future]\n"
		   "Key=1\n"
		   "[Target /a]\n"
		   "Target=1ms\n"
		   "Color=red\n");
	assert_int_equal(load(f), 0);
	assert_int_equal(f->nr, 4);
	expect(f, 0, false, MAIN ":1", "Stray");
	expect(f, 1, false, MAIN ":3", "'mode'");
	expect(f, 2, false, MAIN ":5", "[Future]");
	expect(f, 3, false, MAIN ":9", "Color");
	assert_int_equal(f->config.mode, MODE_ADVISE);
	assert_int_equal(f->config.nr_rules, 1);
}

static void test_syntax(void **state)
{
	struct fixture *f = *state;

	write_file(f, MAIN, "[Daemon]\nMode=observe\nnonsense\n");
	assert_int_equal(load(f), -EINVAL);
	expect(f, 0, true, MAIN ":3", "neither");

	write_file(f, MAIN, "[Daemon\nMode=observe\n");
	assert_int_equal(load(f), -EINVAL);
	expect(f, f->nr - 1, true, MAIN ":1", "neither");
}

static void test_target_sections(void **state)
{
	struct fixture *f = *state;

	write_file(f, MAIN, "[Target /a]\nPercentile=99\n[Target /b]\n\n[Target]\nTarget=1ms\n");
	assert_int_equal(load(f), -EINVAL);
	assert_int_equal(f->nr, 3);
	expect(f, 0, true, MAIN ":1", "no Target=");
	expect(f, 1, true, MAIN ":3", "no Target=");
	expect(f, 2, true, MAIN ":5", "[Target /PATH]");

	write_file(f, MAIN, "[Target /a]\nTarget=1ms\nPercentile=30\n");
	assert_int_equal(load(f), -EINVAL);
	expect(f, 0, true, MAIN ":3", "50 to 100");
}

/* inih knows only 50 bytes of a section's name, and ends it at the first bracket. */
static void test_long_and_bracket_sections(void **state)
{
	const char *path = "/user.slice/user-1000.slice/user@1000.service/app.slice/"
			   "app-a-rather-long-name.scope";
	struct fixture *f = *state;
	_cleanup_free_ char *text = str_printf("[Target %s]\nTarget=1ms\n"
					       "[Target /n[0-9].slice/*]\nTarget=2ms\n", path);

	write_file(f, MAIN, text);
	assert_int_equal(load(f), 0);
	assert_int_equal(f->config.nr_rules, 2);
	assert_string_equal(f->config.rules[0].pattern, path);
	assert_string_equal(f->config.rules[1].pattern, "/n[0-9].slice/*");
}

static void test_long_line(void **state)
{
	struct fixture *f = *state;
	char line[600];

	memset(line, 'x', sizeof(line));
	memcpy(line, "[Daemon]\nPolicyDir=/", 20);
	line[sizeof(line) - 2] = '\n';
	line[sizeof(line) - 1] = 0;
	write_file(f, MAIN, line);
	assert_int_equal(load(f), -EINVAL);
	expect(f, 0, true, MAIN ":2", "longer than");
}

static void test_main_file_order(void **state)
{
	struct fixture *f = *state;

	write_file(f, "usr/lib/migbatch/migbatchd.conf", "[Daemon]\nMode=advise\nMaxPages=7\n");
	assert_int_equal(load(f), 0);
	assert_int_equal(f->config.mode, MODE_ADVISE);

	/* the administrator's file takes the place of the vendor's as a whole */
	write_file(f, MAIN, "[Daemon]\nMode=control\n");
	assert_int_equal(load(f), 0);
	assert_int_equal(f->config.mode, MODE_CONTROL);
	assert_int_equal(f->config.max_pages, 0);
}

static void test_dropin_order(void **state)
{
	struct fixture *f = *state;

	write_file(f, MAIN, "[Daemon]\nMaxPages=1\nMaxChannels=1\n");
	write_file(f, "usr/lib/migbatch/migbatchd.conf.d/50-b.conf", "[Daemon]\nMaxPages=2\n");
	write_file(f, "run/migbatch/migbatchd.conf.d/60-c.conf", "[Daemon]\nMaxPages=3\n");
	write_file(f, DROPIN("10-a.conf"), "[Daemon]\nMaxPages=4\nMaxChannels=4\n");
	write_file(f, DROPIN("ignored.txt"), "[Daemon]\nMaxPages=5\n");
	write_file(f, DROPIN(".hidden.conf"), "[Daemon]\nMaxPages=6\n");
	assert_int_equal(load(f), 0);
	assert_int_equal(f->config.max_pages, 3);	/* by name, not by directory */
	assert_int_equal(f->config.max_channels, 4);

	/* the same name in /etc hides those of /run and /usr/lib */
	write_file(f, DROPIN("60-c.conf"), "");
	assert_int_equal(load(f), 0);
	assert_int_equal(f->config.max_pages, 2);
}

static void test_dropin_refines_target(void **state)
{
	struct fixture *f = *state;

	write_file(f, MAIN, "[Target /a]\nTarget=1ms\nPercentile=90\n[Target /*]\nTarget=9ms\n");
	write_file(f, DROPIN("a.conf"), "[Target /a]\nPercentile=95\n");
	assert_int_equal(load(f), 0);
	assert_int_equal(f->config.nr_rules, 2);
	/* what is named again comes last */
	assert_string_equal(f->config.rules[1].pattern, "/a");
	assert_int_equal(f->config.rules[1].target.ns, NSEC_PER_MSEC);
	assert_int_equal(f->config.rules[1].target.pct_milli, 95000);
	assert_non_null(strstr(f->config.rules[1].origin, "a.conf:1"));
}

static void test_bad_reload_keeps_the_old(void **state)
{
	struct fixture *f = *state;

	write_file(f, MAIN, "[Daemon]\nMode=control\n[Target /a]\nTarget=1ms\n");
	assert_int_equal(load(f), 0);
	write_file(f, MAIN, "[Daemon]\nMode=advise\n[Target /b]\nTarget=1\n");
	assert_int_equal(load(f), -EINVAL);
	assert_int_equal(f->config.mode, MODE_CONTROL);
	assert_int_equal(f->config.nr_rules, 1);
	assert_string_equal(f->config.rules[0].pattern, "/a");
}

static void test_unreadable(void **state)
{
	struct fixture *f = *state;

	/* a directory in the file's place: it opens, and cannot be read */
	write_file(f, DROPIN("a.conf/x"), "");
	assert_int_equal(load(f), -EINVAL);
	expect(f, 0, true, DROPIN("a.conf") ":1", "cannot be read");
	write_file(f, MAIN "/x", "");
	assert_int_equal(load(f), -EINVAL);
	expect(f, 0, true, MAIN ":1", "cannot be read");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_defaults),
		TEST(test_all_keys),
		TEST(test_bad_values),
		TEST(test_all_mistakes_are_told),
		TEST(test_unknown_is_a_warning),
		TEST(test_syntax),
		TEST(test_target_sections),
		TEST(test_long_and_bracket_sections),
		TEST(test_long_line),
		TEST(test_main_file_order),
		TEST(test_dropin_order),
		TEST(test_dropin_refines_target),
		TEST(test_bad_reload_keeps_the_old),
		TEST(test_unreadable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
