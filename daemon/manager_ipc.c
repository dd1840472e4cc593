// SPDX-License-Identifier: GPL-2.0-or-later
#include <dirent.h>
#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "bpfobj.h"
#include "log.h"
#include "manager.h"
#include "stats.h"
#include "util.h"
#include "version.h"

#define WHY_MAX 512	/* of ipc_handler_fn */

static void add_string(struct json_object *obj, const char *name, const char *value)
{
	json_object_object_add(obj, name, value ? json_object_new_string(value) : NULL);
}

static void add_number(struct json_object *obj, const char *name, uint64_t value)
{
	json_object_object_add(obj, name, json_object_new_int64(value));
}

static void add_bool(struct json_object *obj, const char *name, bool value)
{
	json_object_object_add(obj, name, json_object_new_boolean(value));
}

static const char *get_string(struct json_object *request, const char *name)
{
	struct json_object *field;

	if (!json_object_object_get_ex(request, name, &field) ||
	    !json_object_is_type(field, json_type_string))
		return NULL;
	return json_object_get_string(field);
}

/* The clean path of the cgroup that a request names, or an error for its sender. */
static int get_cgroup(struct manager *m, struct json_object *request, char **path, char *why)
{
	const char *text = get_string(request, "cgroup");

	if (!text) {
		snprintf(why, WHY_MAX, "no cgroup named");
		return -EINVAL;
	}
	*path = cgroup_path_clean(text, m->cgroups.root);
	if (!*path) {
		snprintf(why, WHY_MAX, "'%s' is not the path of a cgroup", text);
		return -EINVAL;
	}
	return 0;
}

static int no_such_cgroup(struct manager *m, const char *path, char *why)
{
	snprintf(why, WHY_MAX, "no such cgroup: %s%s (for one that is yet to come, write a "
		 "[Target %s] section in /etc/migbatch/migbatchd.conf.d)", m->cgroups.root, path,
		 path);
	return -ENOENT;
}

static struct json_object *policy_json(const struct manager *m)
{
	const struct policy *p = &m->policy;
	struct json_object *obj = json_object_new_object();

	add_string(obj, "state", policy_state_name(p->state));
	add_string(obj, "wanted", manager_policy_wanted(m));
	add_string(obj, "loaded", p->obj ? p->name : NULL);
	add_string(obj, "pin", p->pin);
	add_bool(obj, "adopted", p->adopted);
	add_string(obj, "error", p->why[0] ? p->why : NULL);
	return obj;
}

static struct json_object *observer_json(const struct manager *m)
{
	const struct observer *o = &m->observer;
	struct json_object *obj = json_object_new_object();

	add_bool(obj, "running", o->obj != NULL);
	add_bool(obj, "plain", o->plain);
	add_string(obj, "error", o->why[0] ? o->why : NULL);
	return obj;
}

static int op_status(struct manager *m, struct json_object *request, struct json_object *answer,
		     char *why)
{
	unsigned int targets = 0, missing = 0;

	(void)request;
	(void)why;
	for (size_t i = 0; i < m->cgroups.nr; i++) {
		targets += m->cgroups.list[i].has_target;
		missing += m->cgroups.list[i].missing;
	}
	add_string(answer, "version", MIGBATCH_VERSION);
	add_string(answer, "mode", mode_name(m->config.mode));
	add_string(answer, "kernel_advice", kernel_features_advice(&m->features));
	add_string(answer, "config_error", m->config_error);
	add_string(answer, "cgroup_root", m->cgroups.root);
	add_number(answer, "cgroups", m->cgroups.nr);
	add_number(answer, "targets", targets);
	add_number(answer, "missing", missing);
	add_number(answer, "interval_ns", m->config.interval_ns);
	json_object_object_add(answer, "policy", policy_json(m));
	json_object_object_add(answer, "observer", observer_json(m));
	return 0;
}

static struct json_object *resolved_json(const struct resolved *r)
{
	struct json_object *obj = json_object_new_object();
	char text[TARGET_TEXT_MAX];

	add_string(obj, "text", target_format(text, &r->target));
	add_number(obj, "target_ns", r->target.ns);
	add_number(obj, "pct_milli", r->target.pct_milli);
	add_string(obj, "source", target_source_name(r->source));
	add_string(obj, "origin", r->origin);
	add_string(obj, "owner", r->owner[0] ? r->owner : NULL);
	return obj;
}

static void list_target(struct manager *m, struct json_object *list, const char *path,
			const struct cgroup *c)
{
	struct resolved own;
	struct json_object *obj;

	if (!target_own(&m->config, &m->state.overrides, path, &own))
		return;
	obj = resolved_json(&own);
	add_string(obj, "path", path);
	add_bool(obj, "present", c);
	if (c) {
		add_number(obj, "id", c->id);
		add_bool(obj, "written", c->written);
		add_number(obj, "scale_milli", c->loop.scale);
		add_bool(obj, "missing", c->missing);
	}
	json_object_array_add(list, obj);
}

static int op_target_list(struct manager *m, struct json_object *request,
			  struct json_object *answer, char *why)
{
	struct json_object *list = json_object_new_array();

	(void)request;
	(void)why;
	for (size_t i = 0; i < m->cgroups.nr; i++)
		list_target(m, list, m->cgroups.list[i].path, &m->cgroups.list[i]);
	for (size_t i = 0; i < m->state.overrides.nr; i++) {
		const char *path = m->state.overrides.list[i].path;

		if (!cgroup_by_path(&m->cgroups, path))
			list_target(m, list, path, NULL);
	}
	json_object_object_add(answer, "targets", list);
	add_number(answer, "default_target_ns", m->config.default_target_ns);
	return 0;
}

/* After an order: the tree may be newer than the last scan, and the file must have it too. */
static int orders_changed(struct manager *m, char *why)
{
	int err = manager_state_save(m, why);

	targets_resolve(m);
	manager_notify(m);
	return err;
}

static int op_target_set(struct manager *m, struct json_object *request,
			 struct json_object *answer, char *why)
{
	const char *text = get_string(request, "target");
	_cleanup_free_ char *path = NULL;
	struct target target;
	struct resolved now;
	uint64_t id;
	int err;

	err = get_cgroup(m, request, &path, why);
	if (err)
		return err;
	if (!text) {
		snprintf(why, WHY_MAX, "no target given; allowed is " TARGET_TEXT_ALLOWED);
		return -EINVAL;
	}
	err = target_parse(text, &target, why, WHY_MAX);
	if (err)
		return err;
	if (cgroup_id_read(m->cgroups.root, path, &id))
		return no_such_cgroup(m, path, why);
	if (!cgroup_by_path(&m->cgroups, path))
		cgroups_scan(&m->cgroups, targets_gone, m);
	err = override_set(&m->state.overrides, path, &target);
	if (err)
		return err;
	err = orders_changed(m, why);
	target_effective(&m->config, &m->state.overrides, path, &now);
	json_object_object_add(answer, "target", resolved_json(&now));
	add_string(answer, "path", path);
	return err;
}

static int op_target_unset(struct manager *m, struct json_object *request,
			   struct json_object *answer, char *why)
{
	_cleanup_free_ char *path = NULL;
	struct resolved now;
	int err;

	err = get_cgroup(m, request, &path, why);
	if (err)
		return err;
	if (!override_unset(&m->state.overrides, path)) {
		target_effective(&m->config, &m->state.overrides, path, &now);
		snprintf(why, WHY_MAX, "%s has no target set by migbatchctl (its target comes "
			 "from: %s)", path,
			 now.origin ? now.origin : target_source_name(now.source));
		return -ENOENT;
	}
	err = orders_changed(m, why);
	target_effective(&m->config, &m->state.overrides, path, &now);
	json_object_object_add(answer, "target", resolved_json(&now));
	add_string(answer, "path", path);
	return err;
}

static int op_policy_list(struct manager *m, struct json_object *request,
			  struct json_object *answer, char *why)
{
	(void)request;
	(void)why;
	add_string(answer, "dir", m->config.policy_dir);
	json_object_object_add(answer, "policy", policy_json(m));
	return 0;
}

/* Why no policy can be attached at all now, or NULL. */
static const char *switch_obstacle(const struct manager *m)
{
	if (!m->features.policies)
		return kernel_features_advice(&m->features);
	if (m->config.mode != MODE_CONTROL)
		return "the daemon only measures; set Mode=control in "
		       "/etc/migbatch/migbatchd.conf and reload it";
	return NULL;
}

static int op_policy_switch(struct manager *m, struct json_object *request,
			    struct json_object *answer, char *why)
{
	const char *name = get_string(request, "name"), *obstacle = switch_obstacle(m);
	char *before = m->state.policy;
	int err;

	if (!name || !policy_name_valid(name)) {
		snprintf(why, WHY_MAX, "no valid name of a policy given");
		return -EINVAL;
	}
	if (obstacle) {
		snprintf(why, WHY_MAX, "%s", obstacle);
		return -EOPNOTSUPP;
	}
	/* Back to the configured one: nothing is ordered any more. */
	m->state.policy = strcmp(name, m->config.policy) ? strdup(name) : NULL;
	err = manager_policy_apply(m);
	if (err) {
		free(m->state.policy);
		m->state.policy = before;
		snprintf(why, WHY_MAX, "%s", m->policy.state == POLICY_FOREIGN ?
			 "a policy that is not ours is attached; remove it first" : m->policy.why);
		return err;
	}
	free(before);
	json_object_object_add(answer, "policy", policy_json(m));
	return orders_changed(m, why);
}

static int op_policy_stop(struct manager *m, struct json_object *request,
			  struct json_object *answer, char *why)
{
	char *stopped = strdup("");

	(void)request;
	if (!stopped)
		return -ENOMEM;
	free(m->state.policy);
	m->state.policy = stopped;
	policy_detach(&m->policy);
	/* Also what bpftool or a daemon before us pinned there. */
	pin_links_remove();
	policy_check(&m->policy);
	json_object_object_add(answer, "policy", policy_json(m));
	return orders_changed(m, why);
}

static const char *path_of(uint64_t id, void *data)
{
	struct manager *m = data;
	struct cgroup *c = cgroup_by_id(&m->cgroups, id);

	return c ? c->path : departed_path(m, id);
}

static bool stats_have(struct json_object *stats, const char *path)
{
	for (size_t i = 0; i < json_object_array_length(stats); i++) {
		const char *have = get_string(json_object_array_get_idx(stats, i), "path");

		if (have && !strcmp(have, path))
			return true;
	}
	return false;
}

/* A live table also shows those with a target of which no batch was seen yet. */
static void add_unseen(struct manager *m, struct json_object *stats)
{
	for (size_t i = 0; i < m->cgroups.nr; i++) {
		const struct cgroup *c = &m->cgroups.list[i];
		struct json_object *obj;

		if (!c->has_target || stats_have(stats, c->path))
			continue;
		obj = json_object_new_object();
		add_number(obj, "id", c->id);
		add_string(obj, "path", c->path);
		json_object_object_add(obj, "hist", json_object_new_array());
		json_object_object_add(obj, "counts", json_object_new_array());
		json_object_array_add(stats, obj);
	}
}

/* Adds to each cgroup the target that is in force for it. */
static void add_targets(struct manager *m, struct json_object *stats)
{
	struct resolved r;

	for (size_t i = 0; i < json_object_array_length(stats); i++) {
		struct json_object *obj = json_object_array_get_idx(stats, i);
		const char *path = get_string(obj, "path");

		if (!path)
			continue;
		target_effective(&m->config, &m->state.overrides, path, &r);
		json_object_object_add(obj, "target", resolved_json(&r));
	}
}

int manager_stats(struct manager *m, struct stats_query *query, struct json_object **stats)
{
	int err;

	query->path_of = path_of;
	query->data = m;
	err = stats_read(query, stats);
	if (err)
		return err;
	if (query->brief && !query->below)
		add_unseen(m, *stats);
	add_targets(m, *stats);
	return 0;
}

static int op_stats(struct manager *m, struct json_object *request, struct json_object *answer,
		    char *why)
{
	struct stats_query query = { 0 };
	struct json_object *stats, *brief;
	_cleanup_free_ char *path = NULL;
	uint64_t id;
	int err;

	if (get_string(request, "cgroup")) {
		err = get_cgroup(m, request, &path, why);
		if (err)
			return err;
		if (cgroup_id_read(m->cgroups.root, path, &id))
			return no_such_cgroup(m, path, why);
		query.below = path;
	}
	query.brief = json_object_object_get_ex(request, "brief", &brief) &&
		      json_object_get_boolean(brief);
	err = manager_stats(m, &query, &stats);
	if (err) {
		snprintf(why, WHY_MAX, "nothing is measured: %s",
			 m->observer.why[0] ? m->observer.why : strerror(-err));
		return err;
	}
	add_number(answer, "when_ns", now_ns());
	add_string(answer, "mode", mode_name(m->config.mode));
	json_object_object_add(answer, "cgroups", stats);
	return 0;
}

static const struct {
	const char *name;
	bool changes;
	int (*run)(struct manager *m, struct json_object *request, struct json_object *answer,
		   char *why);
} ops[] = {
	{ "status", false, op_status },
	{ "target-list", false, op_target_list },
	{ "target-set", true, op_target_set },
	{ "target-unset", true, op_target_unset },
	{ "policy-list", false, op_policy_list },
	{ "policy-switch", true, op_policy_switch },
	{ "policy-stop", true, op_policy_stop },
	{ "stats", false, op_stats },
};

int manager_request(void *manager, struct json_object *request, bool root,
		    struct json_object *answer, char *why)
{
	const char *op = get_string(request, "op");

	for (size_t i = 0; op && i < ARRAY_SIZE(ops); i++) {
		if (strcmp(op, ops[i].name))
			continue;
		if (ops[i].changes && !root) {
			snprintf(why, WHY_MAX, "only root may change anything");
			return -EPERM;
		}
		return ops[i].run(manager, request, answer, why);
	}
	snprintf(why, WHY_MAX, "unknown operation '%s'", op ? op : "");
	return -EINVAL;
}
