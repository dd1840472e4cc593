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

#include "slowloop.h"

struct cgroup {
	char *path;		/* from the cgroup root, which is "/" */
	uint64_t id;
	/* What the daemon knows of it goes with the id: a new cgroup of the same path is new. */
	bool has_target;	/* an entry in map `targets` is wanted */
	bool written;		/* ... and there, as in @entry */
	struct mb_target entry;
	struct slowloop loop;
	uint64_t samples;	/* of its last decision */
	uint64_t misses;
	bool decided;		/* the two above are set */
	struct slowloop_input round;	/* gathered from all cgroups that have this one's target */
	bool missing;		/* it was reported to miss its target */
};

struct cgroups {
	char *root;
	int inotify_fd;
	struct cgroup *list;	/* sorted by path */
	size_t nr;
	bool watch_failed;	/* said once that inotify is out of watches */
};

/* The mount point of cgroup2 (malloc'd), or NULL. Looks past hybrid set-ups. */
char *cgroup_root_find(void);

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
