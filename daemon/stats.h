/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the BPF programs measured, read from the pinned maps: by the daemon for everybody, and by
 * migbatchctl run as root when there is no daemon.
 */
#ifndef MIGBATCH_STATS_H
#define MIGBATCH_STATS_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/types.h>
#include <migbatch/abi.h>

struct json_object;

struct stats_query {
	const char *below;	/* only cgroups at or below this path; NULL: all */
	bool brief;		/* only what a live table needs: first folio and whole batch */
	/* The path of a cgroup that exists, else NULL. */
	const char *(*path_of)(uint64_t id, void *data);
	void *data;
};

/*
 * An array with an object for each cgroup seen: id, path (null once it is gone), hist, counts,
 * decision. -ENOENT when nothing is pinned: no observer runs.
 */
int stats_read(const struct stats_query *query, struct json_object **stats);

/* Walks a hash map whose key starts with a cgroup id. @key is of the map's key size. */
int map_each(int fd, void *key, size_t key_size, int (*visit)(const void *key, void *data),
	     void *data);

const char *metric_name(unsigned int metric);
const char *reason_name(unsigned int reason);
const char *limit_name(unsigned int limit);

#endif /* MIGBATCH_STATS_H */
