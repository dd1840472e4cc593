/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What was ordered by migbatchctl, kept in a file under /run: it outlives a crash and a restart of
 * the daemon, but not a stop, after which all is as configured. What is to last belongs in the
 * configuration.
 */
#ifndef MIGBATCH_STATE_H
#define MIGBATCH_STATE_H

#include "resolve.h"

struct state {
	char *policy;		/* NULL: as configured; "": stopped; else the policy switched to */
	struct overrides overrides;
};

/* An entry that cannot be read is reported and left out. Without a file all is as configured. */
int state_load(struct state *state, const char *path, config_report_fn report, void *data);
int state_save(const struct state *state, const char *path);
void state_free(struct state *state);

#endif /* MIGBATCH_STATE_H */
