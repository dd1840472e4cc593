/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The daemon's log: the journal with fields when it runs as a service, stderr otherwise. One line
 * per change of state; nothing is logged a second time while it stays as it is.
 */
#ifndef MIGBATCH_LOG_H
#define MIGBATCH_LOG_H

#include <stdbool.h>
#include <syslog.h>

/* Asks once where stderr goes; @debug lets LOG_DEBUG through. */
void log_open(bool debug);

void log_line(int priority, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * A change that somebody may want to find by field: MIGBATCH_EVENT=@event, and
 * MIGBATCH_CGROUP=@cgroup and MIGBATCH_POLICY=@policy unless these are NULL.
 */
void log_event(int priority, const char *event, const char *cgroup, const char *policy,
	       const char *fmt, ...) __attribute__((format(printf, 5, 6)));

#endif /* MIGBATCH_LOG_H */
