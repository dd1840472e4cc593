/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Why a cgroup's target has the effect that it has, or none: answers to "I set a limit and nothing
 * happens". Pure: facts in, sentences out.
 */
#ifndef MIGBATCH_EXPLAIN_H
#define MIGBATCH_EXPLAIN_H

#include "resolve.h"
#include "slowloop.h"

/* What became of the policy; the daemon's view, checked against the kernel's. */
enum explain_policy {
	EXPLAIN_POLICY_OFF,
	EXPLAIN_POLICY_STOPPED,		/* by migbatchctl policy stop */
	EXPLAIN_POLICY_ATTACHED,
	EXPLAIN_POLICY_FOREIGN,
	EXPLAIN_POLICY_REMOVED,
	EXPLAIN_POLICY_EJECTED,
	EXPLAIN_POLICY_FAILED,
};

struct explain_facts {
	const char *path;
	uint64_t now_ns;

	/* the system; texts are NULL where there is nothing to say */
	const char *kernel_advice;
	const char *layout_advice;
	const char *observer_why;	/* why nothing is measured */
	enum mode mode;
	enum explain_policy policy;
	const char *policy_name;
	const char *policy_why;
	bool policy_takes_targets;
	bool map_full;			/* its map of targets has no room left */
	uint64_t kernel_max_pages;	/* 0: not known */
	const struct config *config;

	/* the cgroup's target */
	const struct resolved *target;	/* what is in force */
	const struct resolved *own;	/* its own, NULL for none */
	bool written;			/* the owner's entry is in the policy's map */
	const struct asked *asked;
	bool refused_trusted;		/* an attribute is there, but its text is no target */
	bool refused_user;

	/* what happened */
	uint64_t batches;		/* seen by the observer */
	const struct mb_decision *decision;	/* NULL: none yet */
	const struct slowloop *loop;	/* of the target's owner; NULL: none */
	bool missing;
};

enum explain_kind {
	EXPLAIN_OBSTACLE,	/* the target has no effect before this is mended */
	EXPLAIN_LIMIT,		/* what decided on the size of the last batch */
	EXPLAIN_NOTE,
};

const char *explain_kind_name(enum explain_kind kind);

/* Takes one finding; @code is a word for programs, @text a sentence that says what to do. */
typedef void (*explain_fn)(void *data, enum explain_kind kind, const char *code,
			   const char *text);

/* Obstacles come first, the one to mend first first of all. */
void explain(const struct explain_facts *facts, explain_fn found, void *data);

#endif /* MIGBATCH_EXPLAIN_H */
