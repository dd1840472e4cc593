// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "resolve.h"
#include "util.h"

static const char *const source_names[] = {
	[SOURCE_NONE] = "none",
	[SOURCE_DEFAULT] = "default",
	[SOURCE_USER] = "user",
	[SOURCE_FILE] = "file",
	[SOURCE_TRUSTED] = "trusted",
	[SOURCE_CLI] = "cli",
};

const char *target_source_name(enum target_source source)
{
	return source_names[source];
}

struct target_override *override_find(const struct overrides *overrides, const char *path)
{
	for (size_t i = 0; i < overrides->nr; i++)
		if (!strcmp(overrides->list[i].path, path))
			return &overrides->list[i];
	return NULL;
}

int override_set(struct overrides *overrides, const char *path, const struct target *target)
{
	struct target_override *o = override_find(overrides, path), *list;
	char *copy;

	if (o) {
		o->target = *target;
		return 0;
	}
	list = reallocarray(overrides->list, overrides->nr + 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	overrides->list = list;
	copy = strdup(path);
	if (!copy)
		return -ENOMEM;
	list[overrides->nr++] = (struct target_override){ .path = copy, .target = *target };
	return 0;
}

bool override_unset(struct overrides *overrides, const char *path)
{
	struct target_override *o = override_find(overrides, path);

	if (!o)
		return false;
	free(o->path);
	*o = overrides->list[--overrides->nr];
	return true;
}

void overrides_free(struct overrides *overrides)
{
	for (size_t i = 0; i < overrides->nr; i++)
		free(overrides->list[i].path);
	free(overrides->list);
	*overrides = (struct overrides){ 0 };
}

static const struct target_rule *rule_find(const struct config *config, const char *path)
{
	const struct target_rule *found = NULL;

	for (size_t i = 0; i < config->nr_rules; i++) {
		const struct target_rule *rule = &config->rules[i];

		if (!strcmp(rule->pattern, path))
			return rule;
		/* A * stays within one level: what is below inherits anyway. */
		if (!fnmatch(rule->pattern, path, FNM_PATHNAME | FNM_NOESCAPE))
			found = rule;
	}
	return found;
}

/* What a cgroup's owner asks for, within the administrator's bounds. */
static void bound_user(const struct config *config, struct resolved *out)
{
	uint64_t max = config->user_max_ns;

	out->asked_ns = out->target.ns;
	if (max && (!out->target.ns || out->target.ns > max)) {
		out->target.ns = max;
		out->bound = "UserTargetMax=";
		out->bound_origin = config->user_max_origin;
	} else if (out->target.ns && out->target.ns < config->user_min_ns) {
		out->target.ns = config->user_min_ns;
		out->bound = "UserTargetMin=";
		out->bound_origin = config->user_min_origin;
	}
}

static bool take(struct resolved *out, enum target_source source, const struct target *target,
		 const char *origin)
{
	out->source = source;
	out->target = *target;
	out->origin = origin;
	return true;
}

static bool find_own(const struct target_sources *s, const char *path, struct resolved *out)
{
	const struct target_override *o = override_find(s->overrides, path);
	const struct asked *asked = s->asked ? s->asked(path, s->data) : NULL;
	const struct target_rule *rule;

	if (o)
		return take(out, SOURCE_CLI, &o->target, NULL);
	if (asked && asked->has_trusted)
		return take(out, SOURCE_TRUSTED, &asked->trusted, XATTR_TRUSTED);
	rule = rule_find(s->config, path);
	if (rule)
		return take(out, SOURCE_FILE, &rule->target, rule->origin);
	if (!asked || !asked->has_user || !s->config->user_targets)
		return false;
	take(out, SOURCE_USER, &asked->user, XATTR_USER);
	bound_user(s->config, out);
	return true;
}

bool target_own(const struct target_sources *s, const char *path, struct resolved *out)
{
	out->asked_ns = 0;
	out->bound = NULL;
	out->bound_origin = NULL;
	if (!find_own(s, path, out))
		return false;
	snprintf(out->owner, sizeof(out->owner), "%s", path);
	return true;
}

bool path_up(char *path)
{
	char *slash = strrchr(path, '/');

	if (!slash || !path[1])
		return false;
	slash[slash == path] = 0;
	return true;
}

bool target_stricter(const struct target *a, const struct target *b)
{
	return a->ns && (!b->ns || a->ns < b->ns);
}

void target_effective(const struct target_sources *s, const char *path, struct resolved *out)
{
	struct resolved own;
	char at[sizeof(own.owner)];
	bool found = false;

	snprintf(at, sizeof(at), "%s", path);
	do {
		if (!target_own(s, at, &own))
			continue;
		if (!found || target_stricter(&own.target, &out->target))
			*out = own;
		found = true;
	} while (path_up(at));
	if (found)
		return;

	*out = (struct resolved){
		.source = s->config->default_target_ns ? SOURCE_DEFAULT : SOURCE_NONE,
		.target = { .ns = s->config->default_target_ns, .pct_milli = TARGET_PCT_DEFAULT },
		.origin = s->config->default_target_origin,
	};
}

char *cgroup_path_clean(const char *text, const char *root)
{
	size_t len = strlen(root);
	_cleanup_free_ char *copy = NULL;
	char *clean, *part, *rest = NULL, *at;

	if (len && !strncmp(text, root, len) && (text[len] == '/' || !text[len]))
		text += len;
	copy = strdup(text);
	clean = malloc(strlen(text) + 2);
	if (!copy || !clean)
		goto fail;

	at = clean;
	for (part = strtok_r(copy, "/", &rest); part; part = strtok_r(NULL, "/", &rest)) {
		if (!strcmp(part, ".") || !strcmp(part, ".."))
			goto fail;
		*at++ = '/';
		at = stpcpy(at, part);
	}
	if (at == clean)
		*at++ = '/';
	*at = 0;
	return clean;
fail:
	free(clean);
	return NULL;
}
