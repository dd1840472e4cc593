// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdarg.h>
#include <stdio.h>

#include "explain.h"
#include "util.h"

#define CONF "/etc/migbatch/migbatchd.conf"

/* A decision older than that says little about now. */
#define STALE_NS (60 * NSEC_PER_SEC)

/* The CPU copies no batch that is larger (NR_MAX_BATCHED_MIGRATION of the kernel). */
#define CPU_PAGES 512

struct explainer {
	const struct explain_facts *facts;
	explain_fn found;
	void *data;
};

static const char *const kind_names[] = {
	[EXPLAIN_OBSTACLE] = "obstacle",
	[EXPLAIN_LIMIT] = "limit",
	[EXPLAIN_NOTE] = "note",
};

const char *explain_kind_name(enum explain_kind kind)
{
	return kind_names[kind];
}

static void __attribute__((format(printf, 4, 5)))
say(const struct explainer *e, enum explain_kind kind, const char *code, const char *fmt, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vasprintf(&text, fmt, ap);
	va_end(ap);
	e->found(e->data, kind, code, len < 0 ? "out of memory" : text);
}

/* Where a key is set, for a sentence. */
static const char *at(const char *origin)
{
	return origin ? origin : "its default";
}

static void explain_system(const struct explainer *e)
{
	const struct explain_facts *f = e->facts;

	if (f->kernel_advice)
		say(e, EXPLAIN_OBSTACLE, "kernel", "the daemon can only observe: %s",
		    f->kernel_advice);
	if (f->layout_advice)
		say(e, EXPLAIN_OBSTACLE, "cgroups", "%s", f->layout_advice);
	if (f->mode != MODE_CONTROL)
		say(e, EXPLAIN_OBSTACLE, "mode", "mode %s attaches no policy: set Mode=control in "
		    CONF " and run 'systemctl reload migbatchd'", mode_name(f->mode));
}

static void explain_policy_state(const struct explainer *e)
{
	const struct explain_facts *f = e->facts;
	const char *why = f->policy_why && *f->policy_why ? f->policy_why : "see the journal";

	switch (f->policy) {
	case EXPLAIN_POLICY_FOREIGN:
		say(e, EXPLAIN_OBSTACLE, "policy-foreign", "policy '%s' was attached by somebody "
		    "else and decides in place of ours: remove it (its pin, or the program that "
		    "holds it), and ours is attached by itself", f->policy_name);
		break;
	case EXPLAIN_POLICY_STOPPED:
		say(e, EXPLAIN_OBSTACLE, "policy-stopped", "the policy was stopped by "
		    "'migbatchctl policy stop': run 'migbatchctl policy switch %s'",
		    f->config->policy);
		break;
	case EXPLAIN_POLICY_REMOVED:
		say(e, EXPLAIN_OBSTACLE, "policy-removed", "the pin of policy '%s' was removed by "
		    "hand: run 'systemctl reload migbatchd'", f->policy_name);
		break;
	case EXPLAIN_POLICY_EJECTED:
		say(e, EXPLAIN_OBSTACLE, "policy-ejected", "the kernel let policy '%s' go (%s): run "
		    "'systemctl reload migbatchd' to try it again", f->policy_name, why);
		break;
	case EXPLAIN_POLICY_FAILED:
		say(e, EXPLAIN_OBSTACLE, "policy-failed", "the policy could not be attached: %s",
		    why);
		break;
	case EXPLAIN_POLICY_OFF:
		say(e, EXPLAIN_OBSTACLE, "policy-off", "no policy is attached: run 'systemctl "
		    "reload migbatchd'");
		break;
	case EXPLAIN_POLICY_ATTACHED:
		break;
	}
}

static void explain_policy(const struct explainer *e)
{
	const struct explain_facts *f = e->facts;

	/* What keeps any policy away was told already. */
	if (f->kernel_advice || f->mode != MODE_CONTROL)
		return;
	explain_policy_state(e);
	if (f->policy != EXPLAIN_POLICY_ATTACHED)
		return;
	if (!f->policy_takes_targets)
		say(e, EXPLAIN_OBSTACLE, "policy-without-targets", "policy '%s' takes no targets: "
		    "run 'migbatchctl policy switch policy_target'", f->policy_name);
	else if (f->target->owner[0] && !f->written)
		say(e, EXPLAIN_OBSTACLE, "not-written", "the target could not be given to the "
		    "policy%s", f->map_full ? ": its map is full, give fewer cgroups targets of "
		    "their own and let the others inherit" : ", see the journal");
}

static void explain_target(const struct explainer *e)
{
	const struct explain_facts *f = e->facts;
	const struct resolved *t = f->target, *own = f->own;
	char a[TIME_TEXT_MAX], b[TIME_TEXT_MAX];

	if (!t->target.ns)
		say(e, EXPLAIN_OBSTACLE, "no-target", t->owner[0] ?
		    "its target is 'none' (%s), so nothing is bounded" :
		    "neither it nor any cgroup above has a target: run 'migbatchctl target set %s "
		    "TIME', or write a section [Target %s]",
		    t->owner[0] ? t->origin ? t->origin : target_source_name(t->source) : f->path,
		    f->path);
	if (own && t->owner[0] && own->target.ns != t->target.ns)
		say(e, EXPLAIN_NOTE, "bounded-by-ancestor", "its own target %s (from %s) is not "
		    "the one in force: %s above it has %s, and the tightest bounds all below",
		    own->target.ns ? format_time(a, own->target.ns) : "none",
		    own->origin ? own->origin : target_source_name(own->source), t->owner,
		    format_time(b, t->target.ns));
	if (own && own->bound)
		say(e, EXPLAIN_NOTE, "user-bounded", "attribute " XATTR_USER " asks for %s, which "
		    "%s (%s) changes to %s", own->asked_ns ? format_time(a, own->asked_ns) : "none",
		    own->bound, at(own->bound_origin), format_time(b, own->target.ns));
}

static void explain_attributes(const struct explainer *e)
{
	const struct explain_facts *f = e->facts;

	if (f->refused_trusted)
		say(e, EXPLAIN_NOTE, "xattr-refused", "attribute " XATTR_TRUSTED " is not a target "
		    "and counts for nothing; allowed is " TARGET_TEXT_ALLOWED);
	if (f->refused_user)
		say(e, EXPLAIN_NOTE, "xattr-refused", "attribute " XATTR_USER " is not a target "
		    "and counts for nothing; allowed is " TARGET_TEXT_ALLOWED);
	if (!f->asked || !f->asked->has_user)
		return;
	if (!f->config->user_targets)
		say(e, EXPLAIN_NOTE, "user-off", "attribute " XATTR_USER " counts for nothing: the "
		    "configuration has UserTargets=no");
	else if (f->own && f->own->source != SOURCE_USER)
		say(e, EXPLAIN_NOTE, "user-overruled", "attribute " XATTR_USER " counts for "
		    "nothing: %s goes before it", f->own->origin ? f->own->origin :
		    target_source_name(f->own->source));
}

static void explain_ceiling(const struct explainer *e, const struct mb_decision *d)
{
	const struct config *c = e->facts->config;

	if (c->max_pages && d->batch_pages >= c->max_pages)
		say(e, EXPLAIN_LIMIT, "max-pages", "the ceiling MaxPages=%u (%s) kept the last "
		    "batch from being larger, not the target", c->max_pages,
		    at(c->max_pages_origin));
	else if (!d->nr_channels && d->batch_pages <= CPU_PAGES)
		say(e, EXPLAIN_LIMIT, "cpu-pages", "the processor copies, for which batches of more "
		    "than %u pages gain nothing", CPU_PAGES);
	else
		say(e, EXPLAIN_LIMIT, "kernel-max-pages", "the kernel's ceiling kept the last batch "
		    "from being larger, not the target: /sys/kernel/mm/migrate_batch/max_pages is "
		    "%llu", (unsigned long long)e->facts->kernel_max_pages);
}

static void explain_limit(const struct explainer *e, const struct mb_decision *d)
{
	char a[NICE_MAX], b[NICE_MAX];

	nice_time(a, d->predicted_ns);
	nice_time(b, d->target_ns);
	switch (d->limit) {
	case MB_LIMIT_NONE:
		say(e, EXPLAIN_LIMIT, "all-fits", "all that waited fit into the last batch, which "
		    "may have been the end of a longer list: a larger one would have been allowed");
		break;
	case MB_LIMIT_TARGET:
		say(e, EXPLAIN_LIMIT, "target", "the target bounds the batch: %u pages are expected "
		    "to take %s of %s", d->batch_pages, a, b);
		break;
	case MB_LIMIT_MAX_PAGES:
		explain_ceiling(e, d);
		break;
	case MB_LIMIT_UNKNOWN:
		say(e, EXPLAIN_LIMIT, "learning", "nothing is known yet of what such batches cost: "
		    "small ones are made until it is");
		break;
	case MB_LIMIT_ONE_FOLIO:
		say(e, EXPLAIN_LIMIT, "one-folio", "even one folio (%u pages) is expected to take "
		    "%s, more than the target %s, and no smaller batch exists: a target above that, "
		    "more DMA channels or smaller folios would help", d->batch_pages, a, b);
		break;
	default:
		say(e, EXPLAIN_LIMIT, "other", "the policy names a limit that this version does not "
		    "know (%u)", d->limit);
	}
}

static void explain_decision(const struct explainer *e)
{
	const struct explain_facts *f = e->facts;
	const struct mb_decision *d = f->decision;

	if (!d && f->policy == EXPLAIN_POLICY_ATTACHED && f->policy_takes_targets)
		say(e, EXPLAIN_NOTE, "no-samples", "%s, so the policy had nothing to decide: pages "
		    "migrate on move_pages(), NUMA balancing, demotion and compaction, and count for "
		    "the cgroup that owns them",
		    f->batches ? "no batch of it since the policy was attached" :
				 "no page of it has migrated yet");
	else if (!d && !f->batches && !f->observer_why)
		say(e, EXPLAIN_NOTE, "no-samples", "no page of it has migrated since the daemon "
		    "started: there was nothing to bound");
	if (!d)
		return;
	explain_limit(e, d);
	if (f->now_ns > d->when_ns + STALE_NS)
		say(e, EXPLAIN_NOTE, "stale", "its last batch was %llu s ago",
		    (unsigned long long)((f->now_ns - d->when_ns) / NSEC_PER_SEC));
	if (d->trial)
		say(e, EXPLAIN_NOTE, "trial", "the last batch was made to learn what it costs, not "
		    "because it is expected to be the fastest");
	if (f->config->max_channels && d->nr_channels >= f->config->max_channels)
		say(e, EXPLAIN_NOTE, "max-channels", "the ceiling MaxChannels=%u (%s) keeps it from "
		    "more DMA channels", f->config->max_channels, at(f->config->max_channels_origin));
}

static void explain_loop(const struct explainer *e)
{
	const struct explain_facts *f = e->facts;
	const struct slowloop *l = f->loop;

	if (f->observer_why)
		say(e, EXPLAIN_NOTE, "observer", "nothing is measured: %s", f->observer_why);
	if (f->target->target.ns && f->target->target.signal == MB_SIGNAL_WAIT)
		say(e, EXPLAIN_NOTE, "signal-wait", "the policy cannot see what tasks wait: it "
		    "bounds the first-folio delay, and the daemon corrects its aim by the waits");
	if (f->missing)
		say(e, EXPLAIN_NOTE, "missing", "the target is being missed by more than its "
		    "percentage allows");
	if (!l || f->policy != EXPLAIN_POLICY_ATTACHED)
		return;
	if (l->until_ns > f->now_ns)
		say(e, EXPLAIN_NOTE, "out-of-reach", "smaller batches did not help it to meet the "
		    "target, so something else makes them late; no more of them for %llu s",
		    (unsigned long long)((l->until_ns - f->now_ns) / NSEC_PER_SEC));
	else if (l->scale && l->scale < SCALE_NONE)
		say(e, EXPLAIN_NOTE, "corrected", "too many misses: the policy aims at %u.%u %% of "
		    "the target for now", l->scale / 10, l->scale % 10);
}

void explain(const struct explain_facts *facts, explain_fn found, void *data)
{
	const struct explainer e = { .facts = facts, .found = found, .data = data };

	explain_system(&e);
	explain_policy(&e);
	explain_target(&e);
	explain_attributes(&e);
	explain_decision(&e);
	explain_loop(&e);
}
