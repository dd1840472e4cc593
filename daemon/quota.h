/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How many lines about cgroups the log gets: a thousand that change at once must not drown it. What
 * is held back is counted by kind, for one line that sums it up. Pure.
 */
#ifndef MIGBATCH_QUOTA_H
#define MIGBATCH_QUOTA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util.h"

#define QUOTA_WINDOW_NS (10 * NSEC_PER_SEC)
#define QUOTA_LINES 20

enum quota_kind {
	QUOTA_SET,		/* a target was set or changed */
	QUOTA_UNSET,
	QUOTA_MISSED,		/* a target began to be missed */
	QUOTA_OVER,		/* ... and that ended; of beginnings that were held back alone */
	QUOTA_OUT_OF_REACH,
	QUOTA_REFUSED,		/* an attribute is no target */
	QUOTA_KINDS,
};

struct quota {
	uint64_t start_ns;	/* of the window */
	unsigned int lines;
	uint64_t held[QUOTA_KINDS];
};

/* Whether a line may be written now. */
bool quota_take(struct quota *quota, enum quota_kind kind, uint64_t now_ns);

/* Counts a line that is not written because the one that it belongs to was not. */
void quota_hold(struct quota *quota, enum quota_kind kind);

/*
 * When the window is over and lines were held back: a text that says how many (malloc'd), and they
 * are forgotten. Else NULL.
 */
char *quota_summary(struct quota *quota, uint64_t now_ns);

#endif /* MIGBATCH_QUOTA_H */
