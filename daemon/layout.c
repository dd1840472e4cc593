// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "layout.h"
#include "util.h"

/* The word @want in @list, whose words are parted by one of @separators. */
static bool has_word(const char *list, const char *want, const char *separators)
{
	size_t len = strlen(want);

	while (*list) {
		size_t n = strcspn(list, separators);

		if (n == len && !strncmp(list, want, len))
			return true;
		list += n;
		list += *list != 0;
	}
	return false;
}

/* Where the v1 hierarchy of the memory controller is mounted, "" for no v1 at all; malloc'd. */
static char *find_v1(const char *mounts, bool *any)
{
	_cleanup_free_ char *copy = strdup(mounts);
	char *line, *rest = NULL;

	*any = false;
	for (line = copy ? strtok_r(copy, "\n", &rest) : NULL; line;
	     line = strtok_r(NULL, "\n", &rest)) {
		char dir[256], type[32], options[512];

		if (sscanf(line, "%*s %255s %31s %511s", dir, type, options) != 3 ||
		    strcmp(type, "cgroup"))
			continue;
		*any = true;
		if (has_word(options, "memory", ","))
			return strdup(dir);
	}
	return NULL;
}

#define UNIFY "boot with systemd.unified_cgroup_hierarchy=1"

char *layout_advice(const char *mounts, const char *root, const char *controllers)
{
	bool any;
	_cleanup_free_ char *v1 = find_v1(mounts, &any);

	if (!root)
		return any ? str_printf("this host has cgroup v1 only, which has no targets: "
					UNIFY) :
			     str_printf("no cgroup2 is mounted, so nobody has a target: " UNIFY
					", or mount -t cgroup2 cgroup2 /sys/fs/cgroup");
	if (controllers && has_word(controllers, "memory", " \n"))
		return NULL;
	if (v1)
		return str_printf("hybrid cgroups: the memory controller is in cgroup v1 (%s), so "
				  "no page has an owner in cgroup2 (%s) and targets have no "
				  "effect: " UNIFY, v1, root);
	return str_printf("the memory controller is not in cgroup2 (%s), so no page has an owner "
			  "and targets have no effect: build the kernel with CONFIG_MEMCG=y and "
			  "boot without cgroup_disable=memory", root);
}
