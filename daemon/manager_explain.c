// SPDX-License-Identifier: GPL-2.0-or-later
/* The facts of `migbatchctl explain`, gathered from all who have them. */
#include <bpf/bpf.h>
#include <errno.h>
#include <json-c/json.h>
#include <string.h>

#include "explain.h"
#include "manager.h"
#include "manager_json.h"
#include "util.h"

static enum explain_policy policy_fact(const struct manager *m)
{
	switch (m->policy.state) {
	case POLICY_ATTACHED:
		return EXPLAIN_POLICY_ATTACHED;
	case POLICY_FOREIGN:
		return EXPLAIN_POLICY_FOREIGN;
	case POLICY_REMOVED:
		return EXPLAIN_POLICY_REMOVED;
	case POLICY_EJECTED:
		return EXPLAIN_POLICY_EJECTED;
	case POLICY_FAILED:
		return EXPLAIN_POLICY_FAILED;
	case POLICY_OFF:
		break;
	}
	return m->state.policy && !*m->state.policy ? EXPLAIN_POLICY_STOPPED : EXPLAIN_POLICY_OFF;
}

static void add_finding(void *data, enum explain_kind kind, const char *code, const char *text)
{
	struct json_object *obj = json_object_new_object();

	add_string(obj, "kind", explain_kind_name(kind));
	add_string(obj, "code", code);
	add_string(obj, "text", text);
	json_object_array_add(data, obj);
}

static const char *loop_state(const struct cgroup *owner)
{
	if (!owner)
		return NULL;
	if (owner->loop.until_ns > now_ns())
		return "given-up";
	if (owner->loop.scale && owner->loop.scale < SCALE_NONE)
		return owner->loop.scale <= SCALE_MIN ? "at-floor" : "corrected";
	return "parked";
}

static struct json_object *loop_json(const struct cgroup *owner)
{
	struct json_object *obj;

	if (!owner)
		return NULL;
	obj = json_object_new_object();
	add_string(obj, "state", loop_state(owner));
	add_number(obj, "scale_milli", owner->loop.scale);
	add_number(obj, "samples", owner->loop.samples);
	add_number(obj, "misses", owner->loop.misses);
	add_number(obj, "good_scale_milli", owner->loop.good);
	add_bool(obj, "missing", owner->missing);
	return obj;
}

/* What was measured of this cgroup alone: NULL when there is nothing, or nothing measures. */
static struct json_object *measured_of(struct manager *m, const struct cgroup *c)
{
	struct stats_query query = { .below = c->path };
	struct json_object *stats, *found = NULL, *id;

	if (manager_stats(m, &query, &stats))
		return NULL;
	for (size_t i = 0; !found && i < json_object_array_length(stats); i++) {
		struct json_object *obj = json_object_array_get_idx(stats, i);

		json_object_object_get_ex(obj, "id", &id);
		if ((uint64_t)json_object_get_int64(id) == c->id)
			found = json_object_get(obj);
	}
	json_object_put(stats);
	return found;
}

/* Batches and quantiles of what the target bounds, as the live table has them. */
static uint64_t add_measured(struct json_object *answer, struct json_object *measured)
{
	struct json_object *list, *obj, *decision;
	struct readings readings;
	uint64_t batches = 0;

	if (!measured)
		return 0;
	if (json_object_object_get_ex(measured, "decision", &decision))
		json_object_object_add(answer, "decision", json_object_get(decision));
	/* The owner may be another: here the cgroup stands for itself. */
	list = json_object_new_array();
	json_object_array_add(list, json_object_get(measured));
	if (!readings_parse(&readings, list, now_ns())) {
		const struct reading *r = &readings.list[0];

		batches = r->batches;
		obj = json_object_new_object();
		add_number(obj, "batches", r->batches);
		add_number(obj, "moved_pages", r->moved_pages);
		add_number(obj, "dma_pages", r->dma_pages);
		add_string(obj, "signal", r->signal);
		add_number(obj, "samples", r->delay.count);
		add_number(obj, "p50_ns", hist_quantile(&r->delay, 50000));
		add_number(obj, "p99_ns", hist_quantile(&r->delay, 99000));
		add_number(obj, "max_ns", r->delay.max_ns);
		json_object_object_add(answer, "measured", obj);
		readings_free(&readings);
	}
	json_object_put(list);
	return batches;
}

static bool decision_read(const struct manager *m, uint64_t id, struct mb_decision *d)
{
	return m->policy.decisions_fd >= 0 &&
	       !bpf_map_lookup_elem(m->policy.decisions_fd, &id, d);
}

void manager_explain(struct manager *m, struct cgroup *c, struct json_object *answer)
{
	struct json_object *findings = json_object_new_array(), *measured = measured_of(m, c);
	struct target_sources sources = manager_sources(m);
	struct cgroup *owner = cgroup_by_id(&m->cgroups, c->bound_id);
	struct resolved target, own;
	struct mb_decision decision;
	bool has_own = target_own(&sources, c->path, &own);
	struct explain_facts facts = {
		.path = c->path,
		.now_ns = now_ns(),
		.kernel_advice = kernel_features_advice(&m->features),
		.layout_advice = m->layout_advice,
		.observer_why = m->observer.obj ? NULL :
				m->observer.why[0] ? m->observer.why : "the observer does not run",
		.mode = m->config.mode,
		.policy = policy_fact(m),
		.policy_name = m->policy.kernel_name[0] ? m->policy.kernel_name : m->policy.name,
		.policy_why = m->policy.why,
		.policy_takes_targets = m->policy.targets_fd >= 0,
		.map_full = m->targets_full,
		.config = &m->config,
		.target = &target,
		.own = has_own ? &own : NULL,
		.written = owner && owner->written,
		.asked = &c->asked,
		.refused_trusted = c->xattrs[CGROUP_TRUSTED] && !c->asked.has_trusted,
		.refused_user = c->xattrs[CGROUP_USER] && !c->asked.has_user,
		.loop = owner ? &owner->loop : NULL,
		.missing = owner && owner->missing,
	};

	target_effective(&sources, c->path, &target);
	if (decision_read(m, c->id, &decision))
		facts.decision = &decision;
	if (file_read_u64(KERNEL_SYSFS "/max_pages", &facts.kernel_max_pages))
		facts.kernel_max_pages = 0;
	add_string(answer, "path", c->path);
	add_number(answer, "id", c->id);
	add_string(answer, "mode", mode_name(m->config.mode));
	json_object_object_add(answer, "target", resolved_json(&target));
	json_object_object_add(answer, "own", has_own ? resolved_json(&own) : NULL);
	json_object_object_add(answer, "policy", policy_json(m));
	json_object_object_add(answer, "loop", loop_json(owner));
	facts.batches = add_measured(answer, measured);
	json_object_put(measured);
	explain(&facts, add_finding, findings);
	json_object_object_add(answer, "findings", findings);
}
