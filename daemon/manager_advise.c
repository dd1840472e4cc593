// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Mode advise: says which cgroups miss their target and what batch would fit, as a dry run for mode
 * control. Judged by the observer's histograms, since no policy counts misses.
 */
#include <json-c/json.h>

#include "log.h"
#include "manager.h"
#include "util.h"

#define ADVISE_EVERY_NS (5 * NSEC_PER_SEC)

/* Fewer batches than that say little about a percentile. */
#define ADVISE_BATCHES 20

static void advise_one(struct cgroup *c, const struct change *change)
{
	const struct reading *r = change->now;
	struct target target = { r->target_ns, r->pct_milli };
	char text[TARGET_TEXT_MAX];

	target_format(text, &target);
	if (change->verdict == VERDICT_MISSES && !c->missing) {
		c->missing = true;
		log_event(LOG_NOTICE, "advice", c->path, NULL,
			  "%s would miss its %s with batches of %llu pages; about %llu pages would "
			  "fit", c->path, text, (unsigned long long)r->batch_pages,
			  (unsigned long long)change->advice);
	} else if (change->verdict == VERDICT_MEETS && c->missing) {
		c->missing = false;
		log_event(LOG_INFO, "target-met", c->path, NULL, "%s meets its %s again", c->path,
			  text);
	}
}

/* What follows is measured from @before on: the batches since then are too few as yet. */
static void go_on_from(struct reading *r, struct reading *before)
{
	struct reading now = *r;

	*r = *before;
	*before = now;
}

static void advise_all(struct manager *m, struct readings *now)
{
	struct change change;

	for (size_t i = 0; i < now->nr; i++) {
		struct reading *r = &now->list[i];
		struct reading *before = reading_find(&m->advised, r->id);
		struct cgroup *c = cgroup_by_id(&m->cgroups, r->id);

		if (!c || !before)
			continue;
		change_between(&change, r, before, now->when_ns - m->advised.when_ns);
		if (change.batches < ADVISE_BATCHES && r->target_ns == before->target_ns)
			go_on_from(r, before);
		else
			advise_one(c, &change);
	}
}

void manager_advise(struct manager *m)
{
	struct stats_query query = { .brief = true };
	struct json_object *stats;
	struct readings now;
	int err;

	if (m->config.mode != MODE_ADVISE || now_ns() - m->advised.when_ns < ADVISE_EVERY_NS)
		return;
	if (manager_stats(m, &query, &stats))
		return;
	err = readings_parse(&now, stats, now_ns());
	json_object_put(stats);
	if (err)
		return;
	advise_all(m, &now);
	readings_free(&m->advised);
	m->advised = now;
}
