/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which target a cgroup has, and who said so. Pure: paths in, targets out.
 *
 * For one cgroup, a target set by migbatchctl goes before the attribute trusted.migbatch.target of
 * its directory, that before the configuration, and that before the attribute user.migbatch.target,
 * which is kept within UserTargetMin= and UserTargetMax=. In the configuration a section that names
 * the cgroup's very path goes before any glob, and of two globs the later one. What is in force is
 * the strictest target from the cgroup up to the root, as the policy finds it too: without one of
 * its own a cgroup has its ancestor's, and with one a stricter ancestor still bounds it.
 * DefaultTarget= counts where nobody up to the root has any.
 */
#ifndef MIGBATCH_RESOLVE_H
#define MIGBATCH_RESOLVE_H

#include "config.h"

enum target_source {
	SOURCE_NONE,		/* no target at all */
	SOURCE_DEFAULT,		/* DefaultTarget= */
	SOURCE_USER,		/* an extended attribute that the cgroup's owner may write */
	SOURCE_FILE,
	SOURCE_TRUSTED,		/* one that only root may write */
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

/* What the extended attributes of a cgroup's directory ask for. */
struct asked {
	bool has_trusted;
	bool has_user;
	struct target trusted;
	struct target user;
};

#define XATTR_TRUSTED "trusted.migbatch.target"
#define XATTR_USER "user.migbatch.target"

/* All that may say what a cgroup's target is. */
struct target_sources {
	const struct config *config;
	const struct overrides *overrides;
	/* Of the cgroup at a path, NULL for none. May itself be NULL. */
	const struct asked *(*asked)(const char *path, void *data);
	void *data;
};

struct resolved {
	enum target_source source;
	struct target target;
	const char *origin;	/* file:line of a section, name of an attribute, else NULL */
	char owner[4096];	/* whose target it is: the path itself or an ancestor's */
	uint64_t asked_ns;	/* of SOURCE_USER: what was asked for */
	const char *bound;	/* the key that had it changed, NULL when it was not */
	const char *bound_origin;	/* where that key is set, NULL for its default */
};

/* The target that was given to this very cgroup; false when it has none of its own. */
bool target_own(const struct target_sources *sources, const char *path, struct resolved *out);

/* The target that is in force for this cgroup. */
void target_effective(const struct target_sources *sources, const char *path,
		      struct resolved *out);

/* Whether @a bounds more strictly than @b. */
bool target_stricter(const struct target *a, const struct target *b);

/* "/a/b" to "/a", "/a" to "/"; false at the root. */
bool path_up(char *path);

/*
 * The path from the cgroup root, as all of the above want it, of what a user wrote: "a", "/a/",
 * "/sys/fs/cgroup/a" with @root "/sys/fs/cgroup". NULL for a path with . or .. parts. malloc'd.
 */
char *cgroup_path_clean(const char *text, const char *root);

#endif /* MIGBATCH_RESOLVE_H */
