// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the log gets about cgroups: one line per change, a miss as a pair of lines for its beginning
 * and its end, and never more than a quota of them.
 */
#include <stdio.h>

#include "log.h"
#include "manager.h"
#include "util.h"

void journal_target(struct manager *m, const struct cgroup *c, const struct resolved *own)
{
	char text[TARGET_TEXT_MAX];
	const char *from;

	if (!own) {
		if (quota_take(&m->quota, QUOTA_UNSET, now_ns()))
			log_event(LOG_INFO, "target-unset", c->path, NULL,
				  "%s has no target of its own any more", c->path);
		return;
	}
	if (!quota_take(&m->quota, QUOTA_SET, now_ns()))
		return;
	target_format(text, &own->target);
	from = own->origin ? own->origin : target_source_name(own->source);
	log_fields(LOG_INFO, &(struct log_fields){
		.event = "target-set", .cgroup = c->path, .target = text, .source = from,
	}, "%s: %s (from %s)%s%s", c->path, text, from, own->bound ? ", bounded by " : "",
	own->bound ? own->bound : "");
}

void journal_refused(struct manager *m, const struct cgroup *c, const char *name, const char *why)
{
	if (quota_take(&m->quota, QUOTA_REFUSED, now_ns()))
		log_event(LOG_WARNING, "xattr-refused", c->path, NULL, "%s: attribute %s: %s",
			  c->path, name, why);
}

void journal_out_of_reach(struct manager *m, const struct cgroup *c, const char *target)
{
	if (quota_take(&m->quota, QUOTA_OUT_OF_REACH, now_ns()))
		log_fields(LOG_NOTICE, &(struct log_fields){
			.event = "target-out-of-reach", .cgroup = c->path, .target = target,
		}, "%s: smaller batches do not help it to meet its %s; no more of them for %llu s",
		c->path, target, (unsigned long long)(c->loop.give_up_ns / NSEC_PER_SEC));
}

bool miss_begin(struct manager *m, struct cgroup *c)
{
	c->missing = true;
	c->missing_ns = now_ns();
	c->miss_told = quota_take(&m->quota, QUOTA_MISSED, c->missing_ns);
	return c->miss_told;
}

/*
 * The end of what was told is told in any case: its beginnings are few. The end of what was not
 * told is not, so that lines come in pairs.
 */
void miss_end(struct manager *m, struct cgroup *c, const char *target, const char *how)
{
	uint64_t seconds;

	if (!c->missing)
		return;
	c->missing = false;
	if (!c->miss_told) {
		quota_hold(&m->quota, QUOTA_OVER);
		return;
	}
	seconds = (now_ns() - c->missing_ns) / NSEC_PER_SEC;
	log_fields(LOG_INFO, &(struct log_fields){
		.event = target ? "target-met" : "target-miss-over", .cgroup = c->path,
		.target = target,
	}, "%s %s%s (it missed it for %llu s)", c->path, target ? "meets its " : "", how,
	(unsigned long long)seconds);
}

void journal_round(struct manager *m)
{
	_cleanup_free_ char *text = quota_summary(&m->quota, now_ns());

	if (text)
		log_event(LOG_NOTICE, "held-back", NULL, NULL, "lines held back, to spare the log: "
			  "%s; 'migbatchctl target list' and 'migbatchctl explain' have each", text);
}
