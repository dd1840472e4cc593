/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Figures of cgroups as a stats answer has them, and what two of them taken one after the other
 * say: shared by the live table and by the daemon's advice.
 */
#ifndef MIGBATCH_READING_H
#define MIGBATCH_READING_H

#include <stdbool.h>
#include <stddef.h>

#include "histogram.h"

struct json_object;

/* One reading of a cgroup, over all reasons. */
struct reading {
	uint64_t id;
	char *path;		/* NULL once it is gone */
	uint64_t target_ns;
	uint32_t pct_milli;
	struct mb_hist first;
	struct mb_hist total;
	uint64_t moved_pages;
	uint64_t dma_pages;
	uint64_t batches;
	uint64_t batch_pages;	/* of the last batch */
	uint64_t channels;
	uint64_t when_ns;	/* of the last batch that the observer saw */
	bool decided;		/* a policy counts samples and misses */
	uint64_t samples;
	uint64_t misses;
};

struct readings {
	struct reading *list;
	size_t nr;
	uint64_t when_ns;
};

/*
 * From the array of cgroups that stats_read() makes, with their targets added. Cgroups for which
 * the same cgroup's target is in force are one reading, that one's.
 */
int readings_parse(struct readings *readings, struct json_object *cgroups, uint64_t when_ns);
void readings_free(struct readings *readings);
struct reading *reading_find(const struct readings *readings, uint64_t id);

enum verdict {
	VERDICT_NO_TARGET,
	VERDICT_IDLE,
	VERDICT_MEETS,
	VERDICT_MISSES,
};

const char *verdict_name(enum verdict verdict);

/* What happened between two readings of a cgroup, and over all. */
struct change {
	const struct reading *now;
	struct mb_hist first;
	uint64_t batches;
	uint64_t misses;	/* where a policy counts them */
	double gb_per_s;	/* while a batch ran, not counting the time between batches */
	double dma_share;	/* of pages moved */
	uint64_t advice;	/* pages per batch that would fit, 0: nothing to say */
	enum verdict verdict;
	enum verdict overall;
};

/* @before may be NULL: then all is new. */
void change_between(struct change *change, const struct reading *now, const struct reading *before,
		    uint64_t elapsed_ns);

#endif /* MIGBATCH_READING_H */
