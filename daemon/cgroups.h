/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The cgroup v2 tree, followed as it changes. inotify only tells that something did; the tree is
 * then read again, so that a lost or late event costs time and never truth.
 */
#ifndef MIGBATCH_CGROUPS_H
#define MIGBATCH_CGROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/types.h>
#include <migbatch/abi.h>

#include "idmap.h"
#include "resolve.h"
#include "slowloop.h"

/* Attributes of a cgroup's directory that ask for a target, as in struct asked. */
enum cgroup_xattr {
	CGROUP_TRUSTED,
	CGROUP_USER,
	CGROUP_NR_XATTRS,
};

struct cgroup {
	char *path;		/* from the cgroup root, which is "/" */
	uint64_t id;
	char *xattrs[CGROUP_NR_XATTRS];	/* texts of the targets it asks for, or NULL */
	/* What the daemon knows of it goes with the id: a new cgroup of the same path is new. */
	bool resolved;		/* nothing of what decides on its target has changed since */
	struct asked asked;	/* what the texts above say */
	uint64_t bound_id;	/* whose target is in force for it, 0: nobody's */
	struct target bound;	/* that target */
	uint64_t waits;		/* of its tasks on migration entries, where that is its target */
	uint64_t waits_over;
	bool waits_known;	/* the two above are set */
	bool has_series;	/* of its own among the metrics */
	bool in_other;		/* its figures were among those of all the others */
	bool seen;		/* there are figures of it; while metrics are made */
	bool has_target;	/* an entry in map `targets` is wanted */
	bool written;		/* ... and there, as in @entry */
	struct mb_target entry;
	struct slowloop loop;
	uint64_t samples;	/* of its last decision */
	uint64_t misses;
	bool decided;		/* the two above are set */
	struct slowloop_input round;	/* gathered from all cgroups that have this one's target */
	bool missing;		/* it misses its target */
	bool miss_told;		/* ... and the log says so */
	uint64_t missing_ns;	/* since when */
};

struct cgroups {
	char *root;
	int inotify_fd;
	struct cgroup *list;	/* sorted by path */
	size_t nr;
	struct idmap by_id;	/* places in @list */
	bool watch_failed;	/* said once that inotify is out of watches */
};

/* The mount point of cgroup2 (malloc'd), or NULL. Looks past hybrid set-ups. */
char *cgroup_root_find(void);

/*
 * What keeps targets from having an effect in the mounts of this system, in one sentence that says
 * what to do; NULL when all is well. @root is where cgroup2 is mounted, or NULL. malloc'd.
 */
char *cgroup_layout_advice(const char *root);

int cgroups_open(struct cgroups *c, const char *root);
void cgroups_close(struct cgroups *c);

/* Throws away what inotify had to say. True when there was anything. */
bool cgroups_drain(struct cgroups *c);

/* Reads the tree again. @gone is called for each cgroup that is not there any more. */
int cgroups_scan(struct cgroups *c, void (*gone)(struct cgroup *cgroup, void *data), void *data);

struct cgroup *cgroup_by_path(const struct cgroups *c, const char *path);
struct cgroup *cgroup_by_id(const struct cgroups *c, uint64_t id);

/* The id of the cgroup at @path below @root. */
int cgroup_id_read(const char *root, const char *path, uint64_t *id);

#endif /* MIGBATCH_CGROUPS_H */
