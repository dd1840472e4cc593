// SPDX-License-Identifier: GPL-2.0-or-later
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <ini.h>
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "util.h"
#include "version.h"

#define INTERVAL_MIN_NS (100 * NSEC_PER_MSEC)
#define INTERVAL_MAX_NS (5 * NSEC_PER_SEC)	/* half of MB_HEARTBEAT_STALE_NS */

/* The kernel's own limits of a sane value (MIGRATE_BATCH_PAGES_LIMIT, _CHANNELS_LIMIT). */
#define PAGES_MAX 262144
#define CHANNELS_MAX 256

/* First match wins for a file of one name, as everywhere in systemd. */
static const char *const config_dirs[] = {
	"etc/migbatch", "run/migbatch", "usr/lib/migbatch",
};

#define CONFIG_NAME "migbatchd.conf"

struct parser {
	struct config *config;
	config_report_fn report;
	void *data;
	const char *file;
	FILE *stream;
	unsigned int line;
	char *section;		/* whole text between the brackets; inih cuts it short */
	unsigned int section_line;
	struct target_rule *rule;
	bool section_known;
	unsigned int errors;
};

static const char *const mode_names[] = {
	[MODE_OBSERVE] = "observe",
	[MODE_ADVISE] = "advise",
	[MODE_CONTROL] = "control",
};

const char *mode_name(enum mode mode)
{
	return mode_names[mode];
}

bool policy_name_valid(const char *name)
{
	size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_");

	return len && len < 64 && !name[len];
}

static void __attribute__((format(printf, 4, 5)))
note(struct parser *p, bool error, unsigned int line, const char *fmt, ...)
{
	_cleanup_free_ char *text = NULL, *message = NULL;
	va_list ap;
	int len;

	if (error)
		p->errors++;
	va_start(ap, fmt);
	len = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (len < 0)
		return;
	message = str_printf("%s:%u: %s", p->file, line, text);
	if (message)
		p->report(p->data, error, message);
}

static void note_value(struct parser *p, const char *key, const char *value, const char *allowed)
{
	note(p, true, p->line, "%s=%s: not allowed; use %s", key, value, allowed);
}

static void set_string(struct parser *p, char **field, const char *value)
{
	char *copy = strdup(value);

	if (!copy) {
		note(p, true, p->line, "out of memory");
		return;
	}
	free(*field);
	*field = copy;
}

/* [Daemon] keys: each sets its field, or reports the value and what is allowed. */

static void set_mode(struct parser *p, const char *key, const char *value)
{
	for (size_t i = 0; i < ARRAY_SIZE(mode_names); i++) {
		if (!strcmp(value, mode_names[i])) {
			p->config->mode = i;
			return;
		}
	}
	note_value(p, key, value, "observe, advise or control");
}

static void set_policy(struct parser *p, const char *key, const char *value)
{
	if (policy_name_valid(value))
		set_string(p, &p->config->policy, value);
	else
		note_value(p, key, value,
			     "the name of a file in PolicyDir without .bpf.o: a-z, 0-9 and _");
}

static void set_dir(struct parser *p, char **field, const char *key, const char *value)
{
	if (value[0] == '/')
		set_string(p, field, value);
	else
		note_value(p, key, value, "an absolute path");
}

static void set_policy_dir(struct parser *p, const char *key, const char *value)
{
	set_dir(p, &p->config->policy_dir, key, value);
}

static void set_cgroup_root(struct parser *p, const char *key, const char *value)
{
	set_dir(p, &p->config->cgroup_root, key, value);
}

static void set_interval(struct parser *p, const char *key, const char *value)
{
	uint64_t ns;

	if (parse_time(value, &ns) || ns < INTERVAL_MIN_NS || ns > INTERVAL_MAX_NS)
		note_value(p, key, value, "a time with unit from 100ms to 5s, as in 1s");
	else
		p->config->interval_ns = ns;
}

static void set_default_target(struct parser *p, const char *key, const char *value)
{
	if (target_parse_time(value, &p->config->default_target_ns))
		note_value(p, key, value, TARGET_TIME_ALLOWED);
}

static void set_max_pages(struct parser *p, const char *key, const char *value)
{
	uint32_t n;

	if (parse_u32(value, &n) || n > PAGES_MAX)
		note_value(p, key, value,
			     "a number of base pages from 1 to 262144, or 0 for the kernel's limit");
	else
		p->config->max_pages = n;
}

static void set_max_channels(struct parser *p, const char *key, const char *value)
{
	uint32_t n;

	if (parse_u32(value, &n) || n > CHANNELS_MAX)
		note_value(p, key, value,
			     "a number of channels from 1 to 256, or 0 for the kernel's limit");
	else
		p->config->max_channels = n;
}

/* [Target PATTERN] keys */

static void set_target(struct parser *p, const char *key, const char *value)
{
	if (target_parse_time(value, &p->rule->target.ns))
		note_value(p, key, value, TARGET_TIME_ALLOWED);
	p->rule->has_target = true;
}

static void set_percentile(struct parser *p, const char *key, const char *value)
{
	if (target_parse_pct(value, &p->rule->target.pct_milli))
		note_value(p, key, value, TARGET_PCT_ALLOWED);
}

struct key {
	const char *name;
	void (*set)(struct parser *p, const char *key, const char *value);
};

static const struct key daemon_keys[] = {
	{ "Mode", set_mode },
	{ "Policy", set_policy },
	{ "PolicyDir", set_policy_dir },
	{ "ControlGroupRoot", set_cgroup_root },
	{ "Interval", set_interval },
	{ "DefaultTarget", set_default_target },
	{ "MaxPages", set_max_pages },
	{ "MaxChannels", set_max_channels },
};

static const struct key target_keys[] = {
	{ "Target", set_target },
	{ "Percentile", set_percentile },
};

static void key_set(struct parser *p, const struct key *keys, size_t nr, const char *name,
		    const char *value)
{
	for (size_t i = 0; i < nr; i++) {
		if (!strcmp(name, keys[i].name)) {
			keys[i].set(p, name, value);
			return;
		}
	}
	note(p, false, p->line, "unknown key '%s' in [%s], ignored", name, p->section);
}

/*
 * The rule of a pattern, at the end of the list: what is read later wins, and a drop-in may name
 * a pattern again to change one key of it.
 */
static struct target_rule *rule_get(struct parser *p, const char *pattern)
{
	struct config *c = p->config;
	struct target_rule rule = { .target.pct_milli = TARGET_PCT_DEFAULT }, *rules;
	size_t i;

	for (i = 0; i < c->nr_rules && strcmp(c->rules[i].pattern, pattern); i++)
		;
	if (i < c->nr_rules) {
		rule = c->rules[i];
		memmove(&c->rules[i], &c->rules[i + 1],
			(c->nr_rules - i - 1) * sizeof(rule));
		c->nr_rules--;
	} else {
		rule.pattern = strdup(pattern);
	}

	free(rule.origin);
	rule.origin = str_printf("%s:%u", p->file, p->line);
	rules = reallocarray(c->rules, c->nr_rules + 1, sizeof(rule));
	if (!rules || !rule.pattern || !rule.origin) {
		if (rules)
			c->rules = rules;
		free(rule.pattern);
		free(rule.origin);
		note(p, true, p->line, "out of memory");
		return NULL;
	}
	c->rules = rules;
	c->rules[c->nr_rules] = rule;
	return &c->rules[c->nr_rules++];
}

static void section_end(struct parser *p)
{
	if (p->rule && !p->rule->has_target)
		note(p, true, p->section_line, "[%s] has no Target=; use %s", p->section,
		       "Target=" TARGET_TIME_ALLOWED);
	p->rule = NULL;
}

static void section_begin(struct parser *p, char *name)
{
	const char *pattern;

	section_end(p);
	free(p->section);
	p->section = name;
	p->section_line = p->line;
	p->section_known = true;

	if (!strcmp(name, "Daemon"))
		return;
	if (!strncmp(name, "Target", 6) && (!name[6] || isspace((unsigned char)name[6]))) {
		for (pattern = name + 6; isspace((unsigned char)*pattern); pattern++)
			;
		if (pattern[0] == '/')
			p->rule = rule_get(p, pattern);
		else
			note(p, true, p->line,
			       "[%s]: not allowed; use [Target /PATH] with a cgroup's path or glob "
			       "from the cgroup root, as in [Target /db.slice/*]", name);
		return;
	}
	p->section_known = false;
	note(p, false, p->line, "unknown section [%s], ignored", name);
}

static char *strip(char *text)
{
	char *end = text + strlen(text);

	while (isspace((unsigned char)*text))
		text++;
	while (end > text && isspace((unsigned char)end[-1]))
		*--end = 0;
	return text;
}

static void check_section(struct parser *p, const char *line)
{
	const char *end = strrchr(line, ']');
	char *name;

	if (line[0] != '[' || !end)
		return;
	name = strndup(line + 1, end - line - 1);
	if (name)
		section_begin(p, name);
	else
		note(p, true, p->line, "out of memory");
}

/*
 * Feeds inih line by line: it tells its handler neither the number of the line nor more than 50
 * bytes of a section's name, so both are kept here. Lines are handed over without leading blanks,
 * which inih would take for the continuation of a value.
 */
static char *read_line(char *str, int num, void *stream)
{
	struct parser *p = stream;
	_cleanup_free_ char *line = NULL;
	size_t size = 0;
	ssize_t len = getline(&line, &size, p->stream);
	const char *text;

	if (len < 0)
		return NULL;
	p->line++;
	if (strlen(line) != (size_t)len) {
		note(p, true, p->line, "a NUL byte: this is not a text file");
		*line = 0;
	}
	text = strip(line);
	if (strlen(text) + 2 > (size_t)num) {
		note(p, true, p->line, "line longer than %d bytes", num - 2);
		text = "";
	}
	check_section(p, text);
	snprintf(str, num, "%s\n", text);
	return str;
}

static int handle_value(void *user, const char *section, const char *name, const char *value)
{
	struct parser *p = user;

	(void)section;
	if (!p->section)
		note(p, false, p->line, "key '%s' before any section, ignored", name);
	else if (!strcmp(p->section, "Daemon"))
		key_set(p, daemon_keys, ARRAY_SIZE(daemon_keys), name, value);
	else if (p->rule)
		key_set(p, target_keys, ARRAY_SIZE(target_keys), name, value);
	return 1;
}

static int parse_file(struct parser *p, const char *path)
{
	int line;

	p->stream = fopen(path, "re");
	if (!p->stream)
		return -errno;
	p->file = path;
	p->line = 0;

	line = ini_parse_stream(read_line, p, handle_value, p);
	if (line > 0)
		note(p, true, line, "neither [Section] nor Key=Value nor a comment");
	else if (line < 0)
		note(p, true, 1, "out of memory");
	if (ferror(p->stream))
		note(p, true, p->line + 1, "cannot be read");
	section_end(p);

	free(p->section);
	p->section = NULL;
	fclose(p->stream);
	return 0;
}

static void note_unreadable(struct parser *p, const char *path, int err)
{
	_cleanup_free_ char *message = str_printf("%s: cannot be read: %s", path, strerror(-err));

	p->errors++;
	if (message)
		p->report(p->data, true, message);
}

static void parse_main(struct parser *p, const char *root)
{
	for (size_t i = 0; i < ARRAY_SIZE(config_dirs); i++) {
		_cleanup_free_ char *dir = path_join(root, config_dirs[i]);
		_cleanup_free_ char *path = dir ? path_join(dir, CONFIG_NAME) : NULL;
		int err = path ? parse_file(p, path) : -ENOMEM;

		if (!err)
			return;
		if (err != -ENOENT && err != -ENOTDIR)
			note_unreadable(p, path ? path : CONFIG_NAME, err);
	}
}

struct dropin {
	char *name;
	char *path;
};

struct dropins {
	struct dropin *list;
	size_t nr;
};

static bool dropin_known(const struct dropins *d, const char *name)
{
	for (size_t i = 0; i < d->nr; i++)
		if (!strcmp(d->list[i].name, name))
			return true;
	return false;
}

static int dropin_add(struct dropins *d, const char *dir, const char *name)
{
	struct dropin *list = reallocarray(d->list, d->nr + 1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	d->list = list;
	list[d->nr].name = strdup(name);
	list[d->nr].path = path_join(dir, name);
	d->nr++;
	return list[d->nr - 1].name && list[d->nr - 1].path ? 0 : -ENOMEM;
}

static int dropins_scan(struct dropins *d, const char *dir)
{
	DIR *stream = opendir(dir);
	struct dirent *entry;
	int err = 0;

	if (!stream)
		return errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
	while (!err && (entry = readdir(stream))) {
		size_t len = strlen(entry->d_name);

		if (entry->d_name[0] == '.' || len < 6 || strcmp(entry->d_name + len - 5, ".conf"))
			continue;
		if (!dropin_known(d, entry->d_name))
			err = dropin_add(d, dir, entry->d_name);
	}
	closedir(stream);
	return err;
}

static int dropin_compare(const void *a, const void *b)
{
	return strcmp(((const struct dropin *)a)->name, ((const struct dropin *)b)->name);
}

static void parse_dropins(struct parser *p, const char *root)
{
	struct dropins d = { 0 };
	int err;

	for (size_t i = 0; i < ARRAY_SIZE(config_dirs); i++) {
		_cleanup_free_ char *parent = path_join(root, config_dirs[i]);
		_cleanup_free_ char *dir = parent ? path_join(parent, CONFIG_NAME ".d") : NULL;

		err = dir ? dropins_scan(&d, dir) : -ENOMEM;
		if (err)
			note_unreadable(p, dir ? dir : CONFIG_NAME ".d", err);
	}

	if (d.nr)
		qsort(d.list, d.nr, sizeof(*d.list), dropin_compare);
	for (size_t i = 0; i < d.nr; i++) {
		err = d.list[i].path ? parse_file(p, d.list[i].path) : -ENOMEM;
		if (err)
			note_unreadable(p, d.list[i].path ? d.list[i].path : "drop-in", err);
		free(d.list[i].name);
		free(d.list[i].path);
	}
	free(d.list);
}

void config_free(struct config *config)
{
	for (size_t i = 0; i < config->nr_rules; i++) {
		free(config->rules[i].pattern);
		free(config->rules[i].origin);
	}
	free(config->rules);
	free(config->policy);
	free(config->policy_dir);
	free(config->cgroup_root);
	*config = (struct config){ 0 };
}

int config_load(struct config *config, const char *root, config_report_fn report, void *data)
{
	struct config fresh = {
		.mode = MODE_OBSERVE,
		.policy = strdup("policy_target"),
		.policy_dir = strdup(MIGBATCH_LIBDIR),
		.interval_ns = NSEC_PER_SEC,
	};
	struct parser p = { .config = &fresh, .report = report, .data = data };

	if (!fresh.policy || !fresh.policy_dir) {
		config_free(&fresh);
		return -ENOMEM;
	}
	parse_main(&p, root);
	parse_dropins(&p, root);
	if (p.errors) {
		config_free(&fresh);
		return -EINVAL;
	}
	config_free(config);
	*config = fresh;
	return 0;
}
