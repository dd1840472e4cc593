// SPDX-License-Identifier: GPL-2.0-or-later
/* The entry of migbatchctl: options, objects, help and the common printers. */
#include <bpf/libbpf.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "ctl.h"
#include "log.h"
#include "util.h"
#include "version.h"

bool ctl_json;
bool ctl_pretty;

static const struct {
	const char *object;
	const char *text;
} usages[] = {
	{ "status", "migbatchctl [OPTIONS] status" },
	{ "policy", "migbatchctl [OPTIONS] policy { list | switch NAME | stop }" },
	{ "target", "migbatchctl [OPTIONS] target { list | set CGROUP TARGET | unset CGROUP }\n"
		    "       TARGET := target=TIME [pct=PERCENT], as in 'target=500us pct=99'" },
	{ "hist", "migbatchctl [OPTIONS] hist [CGROUP] [metric METRIC]\n"
		  "       METRIC := { first | blackout | unmap | flush | copy | total | wait }" },
	{ "top", "migbatchctl [OPTIONS] top [-n COUNT] [-d INTERVAL] [--plain]" },
	{ "check", "migbatchctl [OPTIONS] check" },
	{ "version", "migbatchctl [OPTIONS] version" },
};

void p_err(const char *fmt, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (len < 0)
		return;
	if (ctl_json) {
		struct json_object *obj = json_object_new_object();

		add_string(obj, "error", text);
		p_json(obj);
	} else {
		fprintf(stderr, "Error: %s\n", text);
	}
}

void p_json(struct json_object *obj)
{
	int flags = JSON_C_TO_STRING_NOSLASHESCAPE;

	flags |= ctl_pretty ? JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED : 0;
	puts(json_object_to_json_string_ext(obj, flags));
	fflush(stdout);
	json_object_put(obj);
}

struct json_object *get_field(struct json_object *obj, const char *name)
{
	struct json_object *field = NULL;

	json_object_object_get_ex(obj, name, &field);
	return field;
}

const char *get_string(struct json_object *obj, const char *name)
{
	struct json_object *field = get_field(obj, name);

	return field ? json_object_get_string(field) : NULL;
}

int64_t get_number(struct json_object *obj, const char *name)
{
	return json_object_get_int64(get_field(obj, name));
}

bool get_bool(struct json_object *obj, const char *name)
{
	return json_object_get_boolean(get_field(obj, name));
}

void add_string(struct json_object *obj, const char *name, const char *value)
{
	json_object_object_add(obj, name, value ? json_object_new_string(value) : NULL);
}

void add_number(struct json_object *obj, const char *name, int64_t value)
{
	json_object_object_add(obj, name, json_object_new_int64(value));
}

void add_bool(struct json_object *obj, const char *name, bool value)
{
	json_object_object_add(obj, name, json_object_new_boolean(value));
}

char *nice_time(char *buf, uint64_t ns)
{
	static const struct {
		uint64_t ns;
		const char *name;
	} units[] = { { NSEC_PER_SEC, "s" }, { NSEC_PER_MSEC, "ms" }, { NSEC_PER_USEC, "us" } };

	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		double value = (double)ns / units[i].ns;

		if (ns < units[i].ns)
			continue;
		snprintf(buf, NICE_MAX, "%.*f%s", value < 10 ? 2 : value < 100 ? 1 : 0, value,
			 units[i].name);
		return buf;
	}
	snprintf(buf, NICE_MAX, ns ? "%lluns" : "-", (unsigned long long)ns);
	return buf;
}

int cmd_usage(const char *object)
{
	for (size_t i = 0; i < ARRAY_SIZE(usages); i++)
		if (!strcmp(usages[i].object, object))
			fprintf(stderr, "usage: %s\n", usages[i].text);
	return CTL_USAGE;
}

int cmd_select(const struct cmd *cmds, size_t nr, const char *object, int argc, char **argv)
{
	const struct cmd *found = NULL;

	if (!argc)
		return cmds[0].func(argc, argv);
	for (size_t i = 0; i < nr; i++) {
		if (strncmp(cmds[i].name, argv[0], strlen(argv[0])))
			continue;
		if (!strcmp(cmds[i].name, argv[0])) {
			found = &cmds[i];
			break;
		}
		if (found) {
			p_err("'%s' is ambiguous: %s or %s", argv[0], found->name, cmds[i].name);
			return CTL_USAGE;
		}
		found = &cmds[i];
	}
	if (found && *argv[0])
		return found->func(argc - 1, argv + 1);
	p_err("unknown command '%s', see 'migbatchctl help'", argv[0]);
	return object ? cmd_usage(object) : CTL_USAGE;
}

static int do_version(int argc, char **argv)
{
	struct json_object *obj;

	(void)argv;
	if (argc)
		return cmd_usage("version");
	if (!ctl_json) {
		printf("migbatchctl %s\nlibbpf %s\n", MIGBATCH_VERSION,
		       libbpf_version_string() + 1);
		return CTL_OK;
	}
	obj = json_object_new_object();
	add_string(obj, "version", MIGBATCH_VERSION);
	add_string(obj, "libbpf_version", libbpf_version_string() + 1);
	p_json(obj);
	return CTL_OK;
}

static int do_help(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	puts("usage: migbatchctl [OPTIONS] OBJECT { COMMAND | help }\n"
	     "       OBJECT := { status | policy | target | hist | top | check | version }\n"
	     "       OPTIONS := { -j, --json | -p, --pretty | -V, --version | -h, --help }\n");
	for (size_t i = 0; i < ARRAY_SIZE(usages); i++)
		printf("       %s\n", usages[i].text);
	puts("\nExit status: 0 done, 1 failed or (check) something is missing, 2 usage,\n"
	     "3 migbatchd does not answer. See migbatchctl(8).");
	return CTL_OK;
}

static const struct cmd cmds[] = {
	{ "help", do_help },
	{ "status", do_status },
	{ "policy", do_policy },
	{ "target", do_target },
	{ "hist", do_hist },
	{ "top", do_top },
	{ "check", do_check },
	{ "version", do_version },
};

static int print_libbpf(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	(void)level;
	(void)fmt;
	(void)ap;
	return 0;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "pretty", no_argument, NULL, 'p' },
		{ "version", no_argument, NULL, 'V' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 }
	};
	int opt;

	log_open(false);
	libbpf_set_print(print_libbpf);
	while ((opt = getopt_long(argc, argv, "+jpVh", options, NULL)) >= 0) {
		switch (opt) {
		case 'p':
			ctl_pretty = true;
			ctl_json = true;
			break;
		case 'j':
			ctl_json = true;
			break;
		case 'V':
			return do_version(0, NULL);
		case 'h':
			return do_help(0, NULL);
		default:
			return CTL_USAGE;
		}
	}
	if (optind == argc) {
		do_help(0, NULL);
		return CTL_USAGE;
	}
	return cmd_select(cmds, ARRAY_SIZE(cmds), NULL, argc - optind, argv + optind);
}
