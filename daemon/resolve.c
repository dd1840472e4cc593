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
	[SOURCE_FILE] = "file",
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

static void set_owner(struct resolved *out, const char *path)
{
	snprintf(out->owner, sizeof(out->owner), "%s", path);
}

bool target_own(const struct config *config, const struct overrides *overrides, const char *path,
		struct resolved *out)
{
	const struct target_override *o = override_find(overrides, path);
	const struct target_rule *rule;

	if (o) {
		out->source = SOURCE_CLI;
		out->target = o->target;
		out->origin = NULL;
		set_owner(out, path);
		return true;
	}
	rule = rule_find(config, path);
	if (!rule)
		return false;
	out->source = SOURCE_FILE;
	out->target = rule->target;
	out->origin = rule->origin;
	set_owner(out, path);
	return true;
}

/* "/a/b" to "/a", "/a" to "/"; false at the root. */
static bool path_up(char *path)
{
	char *slash = strrchr(path, '/');

	if (!slash || !path[1])
		return false;
	slash[slash == path] = 0;
	return true;
}

static bool stricter(const struct resolved *a, const struct resolved *b)
{
	return a->target.ns && (!b->target.ns || a->target.ns < b->target.ns);
}

void target_effective(const struct config *config, const struct overrides *overrides,
		      const char *path, struct resolved *out)
{
	struct resolved own;
	char at[sizeof(own.owner)];
	bool found = false;

	snprintf(at, sizeof(at), "%s", path);
	do {
		if (!target_own(config, overrides, at, &own))
			continue;
		if (!found || stricter(&own, out))
			*out = own;
		found = true;
	} while (path_up(at));
	if (found)
		return;

	out->source = config->default_target_ns ? SOURCE_DEFAULT : SOURCE_NONE;
	out->target = (struct target){ config->default_target_ns, TARGET_PCT_DEFAULT };
	out->origin = NULL;
	out->owner[0] = 0;
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
