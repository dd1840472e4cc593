// SPDX-License-Identifier: GPL-2.0-or-later
/* migbatchctl policy */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "bpfobj.h"
#include "config.h"
#include "ctl.h"
#include "kernel.h"
#include "util.h"
#include "version.h"

#define POLICY_PREFIX "policy_"

static struct json_object *policy_file(const char *dir, const char *name, const char *loaded)
{
	_cleanup_free_ char *path = str_printf("%s/%s" BPFOBJ_SUFFIX, dir, name);
	struct json_object *obj = json_object_new_object();
	char why[BPFOBJ_WHY_MAX] = "";
	_cleanup_close_ int fd = -1;

	add_string(obj, "name", name);
	if (path)
		bpfobj_trust(path, &fd, why);
	add_bool(obj, "loadable", fd >= 0);
	add_string(obj, "obstacle", *why ? why : NULL);
	add_bool(obj, "loaded", loaded && !strcmp(loaded, name));
	return obj;
}

/* The name of a policy's file without its suffix (malloc'd); NULL for any other file. */
static char *policy_of_file(const char *file)
{
	size_t len = strlen(file), suffix = strlen(BPFOBJ_SUFFIX);
	char *name;

	if (len <= suffix || strcmp(file + len - suffix, BPFOBJ_SUFFIX) ||
	    strncmp(file, POLICY_PREFIX, strlen(POLICY_PREFIX)))
		return NULL;
	name = strndup(file, len - suffix);
	if (name && !policy_name_valid(name)) {
		free(name);
		name = NULL;
	}
	return name;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static struct json_object *policy_files(const char *dir, const char *loaded)
{
	struct json_object *list = json_object_new_array();
	struct dirent **entries;
	int nr = scandir(dir, &entries, NULL, by_name);

	for (int i = 0; i < nr; i++) {
		_cleanup_free_ char *name = policy_of_file(entries[i]->d_name);

		if (name)
			json_object_array_add(list, policy_file(dir, name, loaded));
		free(entries[i]);
	}
	if (nr >= 0)
		free(entries);
	return list;
}

static void print_list(struct json_object *obj)
{
	struct json_object *list = get_field(obj, "policies");
	const char *kernel = get_string(obj, "kernel");
	bool shown = false;

	for (size_t i = 0; i < json_object_array_length(list); i++) {
		struct json_object *p = json_object_array_get_idx(list, i);
		const char *name = get_string(p, "name"), *obstacle = get_string(p, "obstacle");
		bool in_force = kernel && !strcmp(kernel, name);

		shown |= in_force;
		printf("%c %-24s%s%s\n", in_force ? '*' : ' ', name, obstacle ? "  " : "",
		       obstacle ? obstacle : "");
	}
	if (kernel && *kernel && !shown)
		printf("* %-24s  (no file of that name in %s)\n", kernel, get_string(obj, "dir"));
	if (!json_object_array_length(list))
		printf("no policies in %s\n", get_string(obj, "dir"));
}

static int do_list(int argc, char **argv)
{
	struct json_object *answer, *obj = json_object_new_object();
	char kernel[KERNEL_POLICY_MAX];
	const char *dir = MIGBATCH_LIBDIR, *loaded = NULL;
	int ret;

	(void)argv;
	if (argc) {
		json_object_put(obj);
		return cmd_usage("policy");
	}
	ret = client_call(client_request("policy-list"), &answer, false);
	if (ret == CTL_FAILED) {
		json_object_put(obj);
		return ret;
	}
	if (answer) {
		dir = get_string(answer, "dir");
		loaded = get_string(get_field(answer, "policy"), "loaded");
	}
	add_string(obj, "dir", dir);
	add_string(obj, "kernel", kernel_policy_read(kernel) ? NULL : kernel);
	json_object_object_add(obj, "policies", policy_files(dir, loaded));
	json_object_put(answer);
	if (ctl_json) {
		p_json(obj);
		return CTL_OK;
	}
	print_list(obj);
	json_object_put(obj);
	return CTL_OK;
}

static void print_policy(struct json_object *answer)
{
	struct json_object *policy = get_field(answer, "policy");
	const char *loaded = get_string(policy, "loaded");

	printf("policy %s: %s\n", loaded ? loaded : "(none)", get_string(policy, "state"));
}

static int print_answer(int ret, struct json_object *answer)
{
	if (ret)
		return ret;
	if (ctl_json) {
		p_json(answer);
		return CTL_OK;
	}
	print_policy(answer);
	json_object_put(answer);
	return CTL_OK;
}

static int do_switch(int argc, char **argv)
{
	struct json_object *request, *answer;
	int ret;

	if (argc != 1)
		return cmd_usage("policy");
	request = client_request("policy-switch");
	add_string(request, "name", argv[0]);
	ret = client_call(request, &answer, true);
	return print_answer(ret, answer);
}

/* Without a daemon nothing else will do it: the policy of one that was killed is still in force. */
static int stop_without_daemon(void)
{
	struct json_object *obj;
	int removed;

	if (geteuid()) {
		p_err("migbatchd is not running; without it only root can remove the policy");
		return CTL_NO_DAEMON;
	}
	removed = pin_links_remove();
	if (ctl_json) {
		obj = json_object_new_object();
		add_number(obj, "removed", removed);
		p_json(obj);
	} else {
		printf("migbatchd is not running; %d pinned policies removed\n", removed);
	}
	return CTL_OK;
}

static int do_stop(int argc, char **argv)
{
	struct json_object *answer;
	int ret;

	(void)argv;
	if (argc)
		return cmd_usage("policy");
	ret = client_call(client_request("policy-stop"), &answer, false);
	return ret == CTL_NO_DAEMON ? stop_without_daemon() : print_answer(ret, answer);
}

static int do_help(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	cmd_usage("policy");
	return CTL_OK;
}

static const struct cmd cmds[] = {
	{ "list", do_list },
	{ "switch", do_switch },
	{ "stop", do_stop },
	{ "help", do_help },
};

int do_policy(int argc, char **argv)
{
	return cmd_select(cmds, ARRAY_SIZE(cmds), "policy", argc, argv);
}
