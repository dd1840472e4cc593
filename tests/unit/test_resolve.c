// SPDX-License-Identifier: GPL-2.0-or-later
/* Whose target a cgroup has: orders, files, globs, ancestors, the default. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "resolve.h"
#include "util.h"

#define US NSEC_PER_USEC

static struct target_rule rules[] = {
	{ .pattern = "/a", .origin = "f:1", .has_target = true, .target = { 100 * US, 99000 } },
	{ .pattern = "/*", .origin = "f:2", .has_target = true, .target = { 200 * US, 98000 } },
	{ .pattern = "/s/*", .origin = "f:3", .has_target = true, .target = { 300 * US, 97000 } },
	{ .pattern = "/s/x*", .origin = "f:4", .has_target = true, .target = { 400 * US, 96000 } },
	{ .pattern = "/q/[ab]/?", .origin = "f:5", .has_target = true,
	  .target = { 50 * US, 95000 } },
	{ .pattern = "/free/none", .origin = "f:6", .has_target = true, .target = { 0, 99000 } },
};

static const struct config files = {
	.rules = rules,
	.nr_rules = ARRAY_SIZE(rules),
	.default_target_ns = 9000 * US,
};

static const struct config empty = { .default_target_ns = 9000 * US };

static const struct overrides no_orders;

static void own_is(const struct config *config, const struct overrides *orders, const char *path,
		   uint64_t us, enum target_source source)
{
	struct resolved r;

	assert_true(target_own(config, orders, path, &r));
	assert_int_equal(r.target.ns, us * US);
	assert_int_equal(r.source, source);
	assert_string_equal(r.owner, path);
}

static void effective_is(const struct config *config, const struct overrides *orders,
			 const char *path, uint64_t us, const char *owner)
{
	struct resolved r;

	target_effective(config, orders, path, &r);
	assert_int_equal(r.target.ns, us * US);
	assert_string_equal(r.owner, owner);
}

static void test_exact_path_before_glob(void **state)
{
	(void)state;
	/* "/ *" is written later and matches too */
	own_is(&files, &no_orders, "/a", 100, SOURCE_FILE);
	own_is(&files, &no_orders, "/b", 200, SOURCE_FILE);
}

static void test_later_glob_wins(void **state)
{
	(void)state;
	own_is(&files, &no_orders, "/s/y", 300, SOURCE_FILE);
	own_is(&files, &no_orders, "/s/xy", 400, SOURCE_FILE);
}

static void test_glob_stays_in_its_level(void **state)
{
	struct resolved r;

	(void)state;
	assert_false(target_own(&files, &no_orders, "/b/c", &r));
	assert_false(target_own(&files, &no_orders, "/s/x/y", &r));
	assert_false(target_own(&files, &no_orders, "/q/c/1", &r));
	own_is(&files, &no_orders, "/q/a/1", 50, SOURCE_FILE);
	assert_false(target_own(&files, &no_orders, "/q/a/10", &r));
}

static void test_root_can_have_a_target(void **state)
{
	struct overrides orders = { 0 };
	struct target t = { 700 * US, 99000 };

	(void)state;
	assert_int_equal(override_set(&orders, "/", &t), 0);
	own_is(&empty, &orders, "/", 700, SOURCE_CLI);
	effective_is(&empty, &orders, "/any/where", 700, "/");
	overrides_free(&orders);
}

static void test_order_before_file(void **state)
{
	struct overrides orders = { 0 };
	struct target t = { 5000 * US, 90000 };
	struct resolved r;

	(void)state;
	assert_int_equal(override_set(&orders, "/a", &t), 0);
	own_is(&files, &orders, "/a", 5000, SOURCE_CLI);
	assert_true(override_unset(&orders, "/a"));
	assert_false(override_unset(&orders, "/a"));
	own_is(&files, &orders, "/a", 100, SOURCE_FILE);
	assert_true(target_own(&files, &orders, "/a", &r));
	assert_string_equal(r.origin, "f:1");
	overrides_free(&orders);
}

static void test_orders_keep_apart(void **state)
{
	struct overrides orders = { 0 };
	struct target t = { 0, 99000 };
	char path[32];

	(void)state;
	for (int i = 1; i <= 100; i++) {
		snprintf(path, sizeof(path), "/g%d", i);
		t.ns = i * US;
		assert_int_equal(override_set(&orders, path, &t), 0);
	}
	assert_true(override_unset(&orders, "/g1"));
	assert_true(override_unset(&orders, "/g50"));
	assert_int_equal(orders.nr, 98);
	for (int i = 1; i <= 100; i++) {
		snprintf(path, sizeof(path), "/g%d", i);
		if (i == 1 || i == 50)
			assert_null(override_find(&orders, path));
		else
			own_is(&empty, &orders, path, i, SOURCE_CLI);
	}
	t.ns = 7 * US;
	assert_int_equal(override_set(&orders, "/g100", &t), 0);
	assert_int_equal(orders.nr, 98);
	own_is(&empty, &orders, "/g100", 7, SOURCE_CLI);
	overrides_free(&orders);
}

static void test_ancestor(void **state)
{
	(void)state;
	effective_is(&files, &no_orders, "/a/b/c/d", 100, "/a");
	effective_is(&files, &no_orders, "/b/c", 200, "/b");
}

static void test_strictest_of_the_line(void **state)
{
	struct overrides orders = { 0 };
	struct target loose = { 5000 * US, 99000 }, tight = { 10 * US, 99000 };

	(void)state;
	/* a looser target below does not lift the one above */
	assert_int_equal(override_set(&orders, "/a/b", &loose), 0);
	effective_is(&files, &orders, "/a/b", 100, "/a");
	/* a tighter one below counts */
	assert_int_equal(override_set(&orders, "/a/b/c", &tight), 0);
	effective_is(&files, &orders, "/a/b/c", 10, "/a/b/c");
	overrides_free(&orders);
}

static void test_none_keeps_only_the_default_away(void **state)
{
	struct overrides orders = { 0 };
	struct target none = { 0, 99000 };

	(void)state;
	assert_int_equal(override_set(&orders, "/a/b", &none), 0);
	assert_int_equal(override_set(&orders, "/x/y", &none), 0);
	effective_is(&files, &orders, "/a/b", 100, "/a");
	effective_is(&empty, &orders, "/x/y", 0, "/x/y");
	overrides_free(&orders);
}

static void test_default(void **state)
{
	static const struct config nothing;
	struct resolved r;

	(void)state;
	target_effective(&empty, &no_orders, "/x", &r);
	assert_int_equal(r.source, SOURCE_DEFAULT);
	assert_int_equal(r.target.ns, 9000 * US);
	target_effective(&nothing, &no_orders, "/x", &r);
	assert_int_equal(r.source, SOURCE_NONE);
	assert_int_equal(r.target.ns, 0);
}

static void clean_is(const char *text, const char *clean)
{
	_cleanup_free_ char *path = cgroup_path_clean(text, "/sys/fs/cgroup");

	if (clean)
		assert_string_equal(path, clean);
	else
		assert_null(path);
}

static void test_paths_as_users_write_them(void **state)
{
	(void)state;
	clean_is("/a/b", "/a/b");
	clean_is("a/b", "/a/b");
	clean_is("//a///b//", "/a/b");
	clean_is("/sys/fs/cgroup/a", "/a");
	clean_is("/sys/fs/cgroup", "/");
	clean_is("/sys/fs/cgroup/", "/");
	clean_is("/sys/fs/cgroups/a", "/sys/fs/cgroups/a");
	clean_is("/", "/");
	clean_is("", "/");
	clean_is("/a/../b", NULL);
	clean_is("./a", NULL);
	clean_is("/a/..b", "/a/..b");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exact_path_before_glob),
		cmocka_unit_test(test_later_glob_wins),
		cmocka_unit_test(test_glob_stays_in_its_level),
		cmocka_unit_test(test_root_can_have_a_target),
		cmocka_unit_test(test_order_before_file),
		cmocka_unit_test(test_orders_keep_apart),
		cmocka_unit_test(test_ancestor),
		cmocka_unit_test(test_strictest_of_the_line),
		cmocka_unit_test(test_none_keeps_only_the_default_away),
		cmocka_unit_test(test_default),
		cmocka_unit_test(test_paths_as_users_write_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
