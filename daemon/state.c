// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "state.h"
#include "util.h"

static void report_entry(config_report_fn report, void *data, const char *path, const char *what)
{
	_cleanup_free_ char *message = str_printf("%s: %s, ignored", path, what);

	if (message)
		report(data, false, message);
}

static int load_targets(struct state *state, struct json_object *targets, const char *path,
			config_report_fn report, void *data)
{
	struct target target;
	char why[256];
	int err;

	json_object_object_foreach(targets, cgroup, text) {
		if (cgroup[0] != '/' || !json_object_is_type(text, json_type_string)) {
			report_entry(report, data, path, "an entry of 'targets' is malformed");
			continue;
		}
		if (target_parse(json_object_get_string(text), &target, why, sizeof(why))) {
			report_entry(report, data, path, why);
			continue;
		}
		err = override_set(&state->overrides, cgroup, &target);
		if (err)
			return err;
	}
	return 0;
}

static int load_policy(struct state *state, struct json_object *policy, const char *path,
		       config_report_fn report, void *data)
{
	const char *name = json_object_get_string(policy);

	if (!name || (*name && !policy_name_valid(name))) {
		report_entry(report, data, path, "'policy' is malformed");
		return 0;
	}
	state->policy = strdup(name);
	return state->policy ? 0 : -ENOMEM;
}

int state_load(struct state *state, const char *path, config_report_fn report, void *data)
{
	struct json_object *root, *field;
	_cleanup_free_ char *text = NULL;
	int err;

	*state = (struct state){ 0 };
	err = file_read(path, &text);
	if (err == -ENOENT)
		return 0;
	if (err)
		return err;
	root = json_tokener_parse(text);
	if (!json_object_is_type(root, json_type_object)) {
		report_entry(report, data, path, "not a JSON object");
		json_object_put(root);
		return 0;
	}
	if (json_object_object_get_ex(root, "policy", &field))
		err = load_policy(state, field, path, report, data);
	if (!err && json_object_object_get_ex(root, "targets", &field) &&
	    json_object_is_type(field, json_type_object))
		err = load_targets(state, field, path, report, data);
	json_object_put(root);
	if (err)
		state_free(state);
	return err;
}

int state_save(const struct state *state, const char *path)
{
	struct json_object *root = json_object_new_object();
	struct json_object *targets = json_object_new_object();
	char text[TARGET_TEXT_MAX];
	int err;

	if (!root || !targets) {
		json_object_put(root);
		json_object_put(targets);
		return -ENOMEM;
	}
	if (state->policy)
		json_object_object_add(root, "policy", json_object_new_string(state->policy));
	for (size_t i = 0; i < state->overrides.nr; i++) {
		const struct target_override *o = &state->overrides.list[i];

		target_format(text, &o->target);
		json_object_object_add(targets, o->path, json_object_new_string(text));
	}
	json_object_object_add(root, "targets", targets);
	err = file_write_atomic(path, json_object_to_json_string_ext(root,
								     JSON_C_TO_STRING_PRETTY));
	json_object_put(root);
	return err;
}

void state_free(struct state *state)
{
	free(state->policy);
	overrides_free(&state->overrides);
	*state = (struct state){ 0 };
}
