/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which target a cgroup has, and who said so. Pure: paths in, targets out.
 *
 * For one cgroup, a target set by migbatchctl goes before the configuration; there a section that
 * names the cgroup's very path goes before any glob, and of two globs the later one. What is in
 * force is the strictest target from the cgroup up to the root, as the policy finds it too: without
 * one of its own a cgroup has its ancestor's, and with one a stricter ancestor still bounds it.
 * DefaultTarget= counts where nobody up to the root has any.
 */
#ifndef MIGBATCH_RESOLVE_H
#define MIGBATCH_RESOLVE_H

#include "config.h"

enum target_source {
	SOURCE_NONE,		/* no target at all */
	SOURCE_DEFAULT,		/* DefaultTarget= */
	SOURCE_FILE,
	SOURCE_CLI,
};

const char *target_source_name(enum target_source source);

/* A target set by migbatchctl. Kept by path, so that it outlives the cgroup. */
struct target_override {
	char *path;
	struct target target;
};

struct overrides {
	struct target_override *list;
	size_t nr;
};

struct target_override *override_find(const struct overrides *overrides, const char *path);
int override_set(struct overrides *overrides, const char *path, const struct target *target);
bool override_unset(struct overrides *overrides, const char *path);
void overrides_free(struct overrides *overrides);

struct resolved {
	enum target_source source;
	struct target target;
	const char *origin;	/* file:line of a section, else NULL */
	char owner[4096];	/* whose target it is: the path itself or an ancestor's */
};

/* The target that was given to this very cgroup; false when it has none of its own. */
bool target_own(const struct config *config, const struct overrides *overrides, const char *path,
		struct resolved *out);

/* The target that is in force for this cgroup. */
void target_effective(const struct config *config, const struct overrides *overrides,
		      const char *path, struct resolved *out);

/*
 * The path from the cgroup root, as all of the above want it, of what a user wrote: "a", "/a/",
 * "/sys/fs/cgroup/a" with @root "/sys/fs/cgroup". NULL for a path with . or .. parts. malloc'd.
 */
char *cgroup_path_clean(const char *text, const char *root);

#endif /* MIGBATCH_RESOLVE_H */
