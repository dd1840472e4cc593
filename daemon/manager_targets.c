// SPDX-License-Identifier: GPL-2.0-or-later
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

#include "log.h"
#include "manager.h"
#include "stats.h"
#include "util.h"

static void entry_write(struct manager *m, struct cgroup *c)
{
	if (m->policy.targets_fd < 0)
		return;
	if (!bpf_map_update_elem(m->policy.targets_fd, &c->id, &c->entry, BPF_ANY)) {
		c->written = true;
		return;
	}
	/* A full map fails for every cgroup to come: say it once. */
	if (errno != E2BIG || !m->targets_full)
		log_event(LOG_ERR, "target-failed", c->path, NULL,
			  "target of %s cannot be written: %s", c->path,
			  errno == E2BIG ? "map `targets` is full" : strerror(errno));
	m->targets_full = errno == E2BIG;
	c->written = false;
}

static void entry_delete(struct manager *m, struct cgroup *c)
{
	if (c->written && m->policy.targets_fd >= 0)
		bpf_map_delete_elem(m->policy.targets_fd, &c->id);
	c->written = false;
}

void targets_gone(struct cgroup *cgroup, void *manager)
{
	entry_delete(manager, cgroup);
	departed_add(manager, cgroup);
}

static void entry_set(struct manager *m, struct cgroup *c, const struct target *target,
		      uint32_t scale)
{
	struct mb_target entry = {
		.target_ns = target->ns,
		.pct_milli = target->pct_milli,
		.scale_milli = scale,
	};

	if (c->written && !memcmp(&entry, &c->entry, sizeof(entry)))
		return;
	c->entry = entry;
	entry_write(m, c);
}

static void resolve_one(struct manager *m, struct cgroup *c)
{
	char text[TARGET_TEXT_MAX];
	bool had = c->has_target;
	struct resolved own;

	c->has_target = target_own(&m->config, &m->state.overrides, c->path, &own);
	if (!c->has_target) {
		entry_delete(m, c);
		if (had)
			log_event(LOG_INFO, "target-unset", c->path, NULL,
				  "%s has no target of its own any more", c->path);
		return;
	}
	if (!had || own.target.ns != c->entry.target_ns ||
	    own.target.pct_milli != c->entry.pct_milli) {
		/* What was learned about one target says nothing about another. */
		c->loop = (struct slowloop){ .scale = SCALE_NONE, .sample_ns = now_ns() };
		c->missing = false;
		log_event(LOG_INFO, "target-set", c->path, NULL, "%s: %s (from %s)", c->path,
			  target_format(text, &own.target),
			  own.origin ? own.origin : target_source_name(own.source));
	}
	entry_set(m, c, &own.target, c->loop.scale);
}

void targets_resolve(struct manager *m)
{
	for (size_t i = 0; i < m->cgroups.nr; i++)
		resolve_one(m, &m->cgroups.list[i]);
}

struct purge {
	const struct cgroups *cgroups;
	uint64_t *ids;
	size_t nr;
};

static int purge_visit(const void *key, void *data)
{
	struct purge *p = data;
	struct cgroup *c;
	uint64_t *ids;
	uint64_t id;

	memcpy(&id, key, sizeof(id));
	c = cgroup_by_id(p->cgroups, id);
	if (c && c->has_target)
		return 0;
	ids = reallocarray(p->ids, p->nr + 1, sizeof(id));
	if (!ids)
		return -ENOMEM;
	p->ids = ids;
	ids[p->nr++] = id;
	return 0;
}

void targets_rewrite(struct manager *m)
{
	struct purge p = { .cgroups = &m->cgroups };
	uint64_t key;

	if (m->policy.targets_fd < 0)
		return;
	for (size_t i = 0; i < m->cgroups.nr; i++) {
		struct cgroup *c = &m->cgroups.list[i];

		c->written = false;
		c->decided = false;
		if (c->has_target)
			entry_write(m, c);
	}
	/* The pinned map may be one that a killed daemon left. */
	map_each(m->policy.targets_fd, &key, sizeof(key), purge_visit, &p);
	for (size_t i = 0; i < p.nr; i++)
		bpf_map_delete_elem(m->policy.targets_fd, &p.ids[i]);
	free(p.ids);
}

static void gather(struct manager *m, struct cgroup *c, const struct mb_decision *d)
{
	struct cgroup *owner = cgroup_by_id(&m->cgroups, d->target_cgroup);
	/* A count that went down is that of a new entry: the map forgets the least used. */
	bool anew = !c->decided || d->samples < c->samples || d->misses < c->misses;
	uint64_t samples = anew ? d->samples : d->samples - c->samples;
	uint64_t misses = anew ? d->misses : d->misses - c->misses;
	bool first = !c->decided;

	c->samples = d->samples;
	c->misses = d->misses;
	c->decided = true;
	/* What was counted before we came (another policy, an earlier daemon) is not judged. */
	if (first || !owner || !samples)
		return;
	owner->round.samples += samples;
	owner->round.misses += misses;
	owner->round.limited |= d->limit == MB_LIMIT_TARGET;
}

static int gather_visit(const void *key, void *data)
{
	struct manager *m = data;
	struct mb_decision d;
	struct cgroup *c;
	uint64_t id;

	memcpy(&id, key, sizeof(id));
	c = cgroup_by_id(&m->cgroups, id);
	if (c && !bpf_map_lookup_elem(m->policy.decisions_fd, &id, &d))
		gather(m, c, &d);
	return 0;
}

static bool is_bad(enum slowloop_step step)
{
	return step == SLOWLOOP_CUT || step == SLOWLOOP_FLOOR || step == SLOWLOOP_GIVE_UP;
}

static void judge(struct manager *m, struct cgroup *c)
{
	struct target target = { c->entry.target_ns, c->entry.pct_milli };
	uint32_t before = c->loop.scale;
	char text[TARGET_TEXT_MAX];
	enum slowloop_step step;

	c->round.now_ns = now_ns();
	c->round.pct_milli = c->entry.pct_milli;
	step = slowloop_round(&c->loop, &c->round);

	if (is_bad(step) && !c->missing) {
		c->missing = true;
		log_event(LOG_WARNING, "target-missed", c->path, NULL,
			  "%s misses its %s (last round: %llu of %llu batches over it)", c->path,
			  target_format(text, &target), (unsigned long long)c->round.misses,
			  (unsigned long long)c->round.samples);
	} else if ((step == SLOWLOOP_GOOD || step == SLOWLOOP_RAISE) && c->missing) {
		c->missing = false;
		log_event(LOG_INFO, "target-met", c->path, NULL, "%s meets its %s again", c->path,
			  target_format(text, &target));
	}
	if (step == SLOWLOOP_GIVE_UP)
		log_event(LOG_NOTICE, "target-out-of-reach", c->path, NULL,
			  "%s: smaller batches do not help it to meet its %s; no more of them for "
			  "%llu s", c->path, target_format(text, &target),
			  (unsigned long long)(c->loop.give_up_ns / NSEC_PER_SEC));
	if (c->loop.scale != before) {
		log_event(LOG_DEBUG, "target-corrected", c->path, NULL,
			  "%s: the policy now aims at %u.%u %% of the target", c->path,
			  c->loop.scale / 10, c->loop.scale % 10);
		entry_set(m, c, &target, c->loop.scale);
	}
}

static void control_write(struct manager *m)
{
	struct mb_control control = {
		.heartbeat_ns = now_ns(),
		.default_target_ns = m->config.default_target_ns,
		.max_pages = m->config.max_pages,
		.max_channels = m->config.max_channels,
	};
	uint32_t zero = 0;

	if (m->policy.control_fd >= 0)
		bpf_map_update_elem(m->policy.control_fd, &zero, &control, BPF_ANY);
}

void targets_round(struct manager *m)
{
	uint64_t key;

	if (m->policy.state != POLICY_ATTACHED)
		return;
	control_write(m);
	if (m->policy.decisions_fd < 0)
		return;
	for (size_t i = 0; i < m->cgroups.nr; i++)
		m->cgroups.list[i].round = (struct slowloop_input){ 0 };
	map_each(m->policy.decisions_fd, &key, sizeof(key), gather_visit, m);
	for (size_t i = 0; i < m->cgroups.nr; i++)
		if (m->cgroups.list[i].has_target && m->cgroups.list[i].entry.target_ns)
			judge(m, &m->cgroups.list[i]);
}
