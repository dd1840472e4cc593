/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is exported to Prometheus, in its text format: base units, counters that end in _total,
 * histograms with their true sum. Pure: figures in, text out.
 *
 * A cgroup has series of its own up to a limit; all others are summed up in one called "other",
 * which is no cgroup's path. A counter of "other" never goes down: see struct series.
 */
#ifndef MIGBATCH_METRICS_H
#define MIGBATCH_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "target.h"

/* Reasons of migration: the kernel's ten, and one more for those it may get. */
#define METRICS_REASONS 11

#define METRICS_OTHER "other"

/* Figures of a cgroup, or of many. */
struct figures {
	struct mb_hist hist[MB_NR_METRICS];
	struct mb_counts counts[METRICS_REASONS];
};

void figures_add(struct figures *to, const struct figures *from);
void figures_add_counts(struct figures *to, unsigned int reason, const struct mb_counts *counts);

struct metrics_cgroup {
	const char *path;	/* or METRICS_OTHER */
	bool has_target;	/* the next four are its own target's */
	struct target target;
	uint32_t scale_milli;
	bool missing;
	bool decided;		/* a policy counts the next two */
	uint64_t samples;
	uint64_t misses;
	struct figures figures;
};

struct metrics_counter {
	const char *name;	/* as the kernel's file is called */
	uint64_t value;
};

struct metrics {
	const char *version;
	const char *mode;
	const char *policy_state;
	bool observing;
	uint64_t nr_cgroups;
	uint64_t nr_targets;
	uint64_t nr_missing;
	uint64_t max_series;	/* cgroups that may have series of their own */
	uint64_t nr_series;
	uint64_t lost;		/* values that the observer had no room for */
	const struct metrics_counter *kernel;
	size_t nr_kernel;
	const char *const *modes;	/* all there are, ended by NULL */
	const char *const *policy_states;
	const char *(*reason_name)(unsigned int reason);
	const struct metrics_cgroup *cgroups;
	size_t nr;
	uint64_t page_size;
};

void metrics_write(FILE *out, const struct metrics *metrics);

#endif /* MIGBATCH_METRICS_H */
