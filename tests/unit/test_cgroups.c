// SPDX-License-Identifier: GPL-2.0-or-later
/* What the following of cgroups rests on: ids that are found again, mounts that are understood. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "idmap.h"
#include "layout.h"
#include "util.h"

static void test_ids_are_found_again(void **state)
{
	struct idmap map = { 0 };

	(void)state;
	assert_int_equal(idmap_get(&map, 1), IDMAP_NONE);
	/* As cgroup2 gives them out: a generation above, and any inode number below. */
	for (uint64_t i = 0; i < 10000; i++)
		assert_int_equal(idmap_set(&map, (i % 3) << 32 | i, i), 0);
	for (uint64_t i = 0; i < 10000; i++)
		assert_int_equal(idmap_get(&map, (i % 3) << 32 | i), i);
	assert_int_equal(idmap_get(&map, 10000), IDMAP_NONE);
	assert_int_equal(idmap_get(&map, 7ULL << 32), IDMAP_NONE);
	assert_int_equal(map.nr, 10000);

	assert_int_equal(idmap_set(&map, 1ULL << 32 | 1, 77), 0);
	assert_int_equal(idmap_get(&map, 1ULL << 32 | 1), 77);
	assert_int_equal(map.nr, 10000);
	idmap_free(&map);
}

/* Id 0 and place 0 are none of the map's own marks. */
static void test_zero_is_a_value(void **state)
{
	struct idmap map = { 0 };

	(void)state;
	assert_int_equal(idmap_set(&map, 0, 0), 0);
	assert_int_equal(idmap_get(&map, 0), 0);
	assert_int_equal(idmap_get(&map, 64), IDMAP_NONE);
	idmap_free(&map);
}

#define UNIFIED "proc /proc proc rw 0 0\ncgroup2 /sys/fs/cgroup cgroup2 rw,nsdelegate 0 0\n"
#define V1 "tmpfs /sys/fs/cgroup tmpfs ro 0 0\n" \
	"cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,cpu,cpuacct 0 0\n" \
	"cgroup /sys/fs/cgroup/memory cgroup rw,nosuid,memory 0 0\n"
#define HYBRID V1 "cgroup2 /sys/fs/cgroup/unified cgroup2 rw,nsdelegate 0 0\n"

static void advice_is(const char *mounts, const char *root, const char *controllers,
		      const char *what)
{
	_cleanup_free_ char *advice = layout_advice(mounts, root, controllers);

	if (!what) {
		assert_null(advice);
		return;
	}
	assert_non_null(advice);
	if (!strstr(advice, what))
		fail_msg("'%s' does not say '%s'", advice, what);
}

static void test_mounts(void **state)
{
	(void)state;
	advice_is(UNIFIED, "/sys/fs/cgroup", "cpuset cpu io memory pids", NULL);
	advice_is(UNIFIED, "/sys/fs/cgroup", "memory", NULL);
	advice_is(UNIFIED, "/sys/fs/cgroup", "cpu memory\n", NULL);
	/* systemd's own v1 hierarchy beside a full cgroup2 harms nobody */
	advice_is(UNIFIED "cgroup /sys/fs/cgroup/systemd cgroup rw,name=systemd 0 0\n",
		  "/sys/fs/cgroup", "memory", NULL);
	advice_is(HYBRID, "/sys/fs/cgroup/unified", "", "hybrid");
	advice_is(HYBRID, "/sys/fs/cgroup/unified", "", "/sys/fs/cgroup/memory");
	advice_is(HYBRID, "/sys/fs/cgroup/unified", "", "systemd.unified_cgroup_hierarchy=1");
	advice_is(V1, NULL, NULL, "cgroup v1 only");
	advice_is("proc /proc proc rw 0 0\n", NULL, NULL, "no cgroup2 is mounted");
	/* no word that only holds the name will do */
	advice_is(UNIFIED, "/sys/fs/cgroup", "cpu memory2", "cgroup_disable=memory");
}

static void test_mounts_that_make_no_sense(void **state)
{
	(void)state;
	advice_is("", NULL, NULL, "no cgroup2");
	advice_is("\n\n cgroup\nx y\n", "/x", "memory", NULL);
	advice_is("cgroup", "/x", NULL, "CONFIG_MEMCG");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ids_are_found_again),
		cmocka_unit_test(test_zero_is_a_value),
		cmocka_unit_test(test_mounts),
		cmocka_unit_test(test_mounts_that_make_no_sense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
