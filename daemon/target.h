/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A cgroup's target and its text, the same in configuration, command line and status:
 * "target=500us pct=99". "target=none" is a target too: it keeps DefaultTarget= away, but never an
 * ancestor's target, which bounds all that is below.
 */
#ifndef MIGBATCH_TARGET_H
#define MIGBATCH_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TARGET_PCT_DEFAULT 99000	/* 99 %, as struct mb_target counts it */

struct target {
	uint64_t ns;		/* 0: no bound */
	uint32_t pct_milli;
};

/* What is allowed, in words, for error messages. */
#define TARGET_TIME_ALLOWED "a time with unit from 1us to 10s, as in 500us or 2ms, or none"
#define TARGET_PCT_ALLOWED "a percentage from 50 to 100, as in 99 or 99.9"
#define TARGET_TEXT_ALLOWED "target=TIME [pct=PERCENT], as in \"target=500us pct=99\""

int target_parse_time(const char *text, uint64_t *ns);
int target_parse_pct(const char *text, uint32_t *pct_milli);

/* Parses the whole text; on -EINVAL, @why (of @size bytes) says what is wrong. */
int target_parse(const char *text, struct target *target, char *why, size_t size);

#define TARGET_TEXT_MAX 64
char *target_format(char *buf, const struct target *target);

#endif /* MIGBATCH_TARGET_H */
