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
	miss_end(manager, cgroup, NULL, "is gone");
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
		.signal = target->signal,
	};

	if (c->written && !memcmp(&entry, &c->entry, sizeof(entry)))
		return;
	c->entry = entry;
	entry_write(m, c);
}

static struct target entry_target(const struct cgroup *c)
{
	return (struct target){
		.ns = c->entry.target_ns,
		.pct_milli = c->entry.pct_milli,
		.signal = c->entry.signal,
	};
}

static const struct asked *asked_of(const char *path, void *data)
{
	struct manager *m = data;
	const struct cgroup *c = cgroup_by_path(&m->cgroups, path);

	return c ? &c->asked : NULL;
}

struct target_sources manager_sources(struct manager *m)
{
	return (struct target_sources){
		.config = &m->config,
		.overrides = &m->state.overrides,
		.asked = asked_of,
		.data = m,
	};
}

static bool ask(struct manager *m, const struct cgroup *c, enum cgroup_xattr xattr,
		const char *name, struct target *target)
{
	const char *text = c->xattrs[xattr];
	char why[256];

	if (!text)
		return false;
	if (!target_parse(text, target, why, sizeof(why)))
		return true;
	journal_refused(m, c, name, why);
	return false;
}

static void read_asked(struct manager *m, struct cgroup *c)
{
	struct asked *a = &c->asked;

	*a = (struct asked){ 0 };
	a->has_trusted = ask(m, c, CGROUP_TRUSTED, XATTR_TRUSTED, &a->trusted);
	a->has_user = ask(m, c, CGROUP_USER, XATTR_USER, &a->user);
}

/* What was learned about one target says nothing about another. */
static void start_anew(struct manager *m, struct cgroup *c)
{
	miss_end(m, c, NULL, "has another target now");
	c->loop = (struct slowloop){ .scale = SCALE_NONE, .sample_ns = now_ns() };
}

static void resolve_one(struct manager *m, struct cgroup *c, const struct target_sources *sources)
{
	bool had = c->has_target;
	struct target before;
	struct resolved own;

	c->has_target = target_own(sources, c->path, &own);
	if (!c->has_target) {
		entry_delete(m, c);
		if (!had)
			return;
		miss_end(m, c, NULL, "has no target of its own any more");
		journal_target(m, c, NULL);
		return;
	}
	before = entry_target(c);
	if (!had || !target_equal(&own.target, &before)) {
		start_anew(m, c);
		journal_target(m, c, &own);
	}
	entry_set(m, c, &own.target, c->loop.scale);
}

/* Whose target is in force for it: its own or its parent's, which comes before it in the list. */
static void bound_one(struct manager *m, struct cgroup *c)
{
	_cleanup_free_ char *path = strdup(c->path);
	const struct cgroup *parent = NULL;
	struct target own = entry_target(c);

	if (path && path_up(path))
		parent = cgroup_by_path(&m->cgroups, path);
	c->bound = parent ? parent->bound : (struct target){ 0 };
	c->bound_id = parent ? parent->bound_id : 0;
	if (!c->has_target || (c->bound.ns && !target_stricter(&own, &c->bound)))
		return;
	c->bound = own;
	c->bound_id = c->id;
}

void targets_resolve(struct manager *m, bool all)
{
	struct target_sources sources = manager_sources(m);
	bool any = all;

	for (size_t i = 0; i < m->cgroups.nr; i++) {
		struct cgroup *c = &m->cgroups.list[i];

		if (c->resolved && !all)
			continue;
		if (!c->resolved)
			read_asked(m, c);
		resolve_one(m, c, &sources);
		c->resolved = true;
		any = true;
	}
	for (size_t i = 0; any && i < m->cgroups.nr; i++)
		bound_one(m, &m->cgroups.list[i]);
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
	owner->round.limited |= d->limit == MB_LIMIT_TARGET;
	if (owner->entry.signal == MB_SIGNAL_WAIT)
		return;
	owner->round.samples += samples;
	owner->round.misses += misses;
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

static void gather_waits_of(struct manager *m, struct cgroup *c, const struct mb_hist *h)
{
	struct cgroup *owner = cgroup_by_id(&m->cgroups, c->bound_id);
	uint64_t over = hist_over(h, c->bound.ns);

	if (owner && h->count > c->waits && c->waits_known) {
		owner->round.samples += h->count - c->waits;
		owner->round.misses += over > c->waits_over ? over - c->waits_over : 0;
	}
	c->waits = h->count;
	c->waits_over = over;
	c->waits_known = true;
}

/* The policy does not see what tasks wait: the observer does. */
static void gather_waits(struct manager *m)
{
	struct percpu percpu = { 0 };
	struct mb_hist sum;
	int err = 0;

	for (size_t i = 0; m->observer.hist_fd >= 0 && i < m->cgroups.nr; i++) {
		struct cgroup *c = &m->cgroups.list[i];
		struct mb_hist_key key = { .cgroup_id = c->id, .metric = MB_WAIT };

		if (!c->bound.ns || c->bound.signal != MB_SIGNAL_WAIT)
			continue;
		if (!percpu.values && percpu_init(&percpu))
			break;
		err = hist_lookup(m->observer.hist_fd, &key, &percpu, &sum);
		/* No entry is none waited yet, which the first wait is counted from. */
		if (!err || err == -ENOENT)
			gather_waits_of(m, c, &sum);
	}
	percpu_free(&percpu);
}

static bool is_bad(enum slowloop_step step)
{
	return step == SLOWLOOP_CUT || step == SLOWLOOP_FLOOR || step == SLOWLOOP_GIVE_UP;
}

static void journal_missed(struct manager *m, struct cgroup *c, const char *target)
{
	const struct slowloop_input *round = &c->round;

	if (miss_begin(m, c))
		log_fields(LOG_WARNING, &(struct log_fields){
			.event = "target-missed", .cgroup = c->path, .target = target,
			.counted = true, .samples = round->samples, .misses = round->misses,
		}, "%s misses its %s (last round: %llu of %llu samples over it)", c->path, target,
		(unsigned long long)round->misses, (unsigned long long)round->samples);
}

static void judge(struct manager *m, struct cgroup *c)
{
	struct target target = entry_target(c);
	uint32_t before = c->loop.scale;
	char text[TARGET_TEXT_MAX];
	enum slowloop_step step;

	c->round.now_ns = now_ns();
	c->round.pct_milli = c->entry.pct_milli;
	c->round.target_ns = c->entry.target_ns;
	step = slowloop_round(&c->loop, &c->round);

	target_format(text, &target);
	if (is_bad(step) && !c->missing)
		journal_missed(m, c, text);
	else if (step == SLOWLOOP_GOOD || step == SLOWLOOP_RAISE)
		miss_end(m, c, text, " again");
	if (step == SLOWLOOP_GIVE_UP)
		journal_out_of_reach(m, c, text);
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
	gather_waits(m);
	for (size_t i = 0; i < m->cgroups.nr; i++)
		if (m->cgroups.list[i].has_target && m->cgroups.list[i].entry.target_ns)
			judge(m, &m->cgroups.list[i]);
}
