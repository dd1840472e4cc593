// SPDX-License-Identifier: GPL-2.0-or-later
/* migbatchctl target */
#include <bpf/bpf.h>
#include <stdio.h>
#include <string.h>

#include "bpfobj.h"
#include "cgroups.h"
#include "ctl.h"
#include "stats.h"
#include "target.h"
#include "util.h"

static void print_row(struct json_object *t)
{
	const char *path = get_string(t, "path"), *origin = get_string(t, "origin");
	int64_t scale = get_number(t, "scale_milli");
	char aim[32] = "-";

	if (scale)
		snprintf(aim, sizeof(aim), "%.1f%%", scale / 10.0);
	printf("%-32s %-24s %-8s %s%s%s%s\n", path ? path : "(gone)", get_string(t, "text"), aim,
	       get_string(t, "source"), origin ? " " : "", origin ? origin : "",
	       get_bool(t, "present") ? "" : " (no such cgroup now)");
}

static void print_list(struct json_object *obj)
{
	struct json_object *list = get_field(obj, "targets");
	struct json_object *fallback = get_field(obj, "default_target_ns");
	uint64_t ns = fallback ? json_object_get_int64(fallback) : 0;
	char time[TIME_TEXT_MAX];

	printf("%-32s %-24s %-8s %s\n", "CGROUP", "TARGET", "AIM", "FROM");
	for (size_t i = 0; i < json_object_array_length(list); i++)
		print_row(json_object_array_get_idx(list, i));
	if (fallback)
		printf("%-32s target=%s\n", "(all others)", ns ? format_time(time, ns) : "none");
}

struct reader {
	struct json_object *list;
	struct cgroups *cgroups;
	int fd;
};

static int read_target(const void *key, void *data)
{
	struct json_object *obj;
	struct reader *r = data;
	char text[TARGET_TEXT_MAX];
	struct target target;
	struct mb_target t;
	struct cgroup *c;
	uint64_t id;

	memcpy(&id, key, sizeof(id));
	if (bpf_map_lookup_elem(r->fd, key, &t))
		return 0;
	c = cgroup_by_id(r->cgroups, id);
	target = (struct target){ t.target_ns, t.pct_milli ? t.pct_milli : TARGET_PCT_DEFAULT };
	obj = json_object_new_object();
	add_string(obj, "path", c ? c->path : NULL);
	add_number(obj, "id", id);
	add_string(obj, "text", target_format(text, &target));
	add_number(obj, "target_ns", t.target_ns);
	add_number(obj, "pct_milli", target.pct_milli);
	add_number(obj, "scale_milli", t.scale_milli);
	add_string(obj, "source", "map");
	add_bool(obj, "present", c);
	json_object_array_add(r->list, obj);
	return 0;
}

static void ignore_gone(struct cgroup *cgroup, void *data)
{
	(void)cgroup;
	(void)data;
}

/* What the policy goes by, straight from its map: the targets of a daemon that was killed, say. */
static int list_from_map(struct json_object **answer)
{
	_cleanup_close_ int fd = pin_map_open("targets", sizeof(uint64_t),
					      sizeof(struct mb_target));
	_cleanup_free_ char *root = cgroup_root_find();
	struct cgroups cgroups = { .inotify_fd = -1 };
	struct reader r = { .cgroups = &cgroups, .fd = fd };
	uint64_t key;

	if (fd < 0) {
		p_err("migbatchd is not running, and no policy with targets is loaded%s",
		      geteuid() ? " (or you are not root)" : "");
		return CTL_NO_DAEMON;
	}
	if (root && !cgroups_open(&cgroups, root))
		cgroups_scan(&cgroups, ignore_gone, NULL);
	r.list = json_object_new_array();
	map_each(fd, &key, sizeof(key), read_target, &r);
	cgroups_close(&cgroups);
	*answer = json_object_new_object();
	json_object_object_add(*answer, "targets", r.list);
	return CTL_OK;
}

static int do_list(int argc, char **argv)
{
	struct json_object *answer;
	int ret;

	(void)argv;
	if (argc)
		return cmd_usage("target");
	ret = client_call(client_request("target-list"), &answer, false);
	if (ret == CTL_NO_DAEMON)
		ret = list_from_map(&answer);
	if (ret)
		return ret;
	if (ctl_json) {
		p_json(answer);
		return CTL_OK;
	}
	print_list(answer);
	json_object_put(answer);
	return CTL_OK;
}

static int print_answer(int ret, struct json_object *answer)
{
	struct json_object *target;
	const char *origin;

	if (ret)
		return ret;
	if (ctl_json) {
		p_json(answer);
		return CTL_OK;
	}
	target = get_field(answer, "target");
	origin = get_string(target, "origin");
	printf("%s: %s (from %s)\n", get_string(answer, "path"), get_string(target, "text"),
	       origin ? origin : get_string(target, "source"));
	json_object_put(answer);
	return CTL_OK;
}

/* "500us" and "500us pct=99" are what people type first; take them as well. */
static char *join_target(int argc, char **argv)
{
	bool bare = strncmp(argv[0], "target=", 7) && strncmp(argv[0], "pct=", 4);
	char *text = str_printf("%s%s", bare ? "target=" : "", argv[0]), *longer;

	for (int i = 1; text && i < argc; i++) {
		longer = str_printf("%s %s", text, argv[i]);
		free(text);
		text = longer;
	}
	return text;
}

static int do_set(int argc, char **argv)
{
	struct json_object *request, *answer;
	_cleanup_free_ char *text = NULL;
	struct target target;
	char why[256];
	int ret;

	if (argc < 2)
		return cmd_usage("target");
	text = join_target(argc - 1, argv + 1);
	if (!text || target_parse(text, &target, why, sizeof(why))) {
		p_err("%s", text ? why : "out of memory");
		return CTL_USAGE;
	}
	request = client_request("target-set");
	add_string(request, "cgroup", argv[0]);
	add_string(request, "target", text);
	ret = client_call(request, &answer, true);
	return print_answer(ret, answer);
}

static int do_unset(int argc, char **argv)
{
	struct json_object *request, *answer;
	int ret;

	if (argc != 1)
		return cmd_usage("target");
	request = client_request("target-unset");
	add_string(request, "cgroup", argv[0]);
	ret = client_call(request, &answer, true);
	return print_answer(ret, answer);
}

static int do_help(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	cmd_usage("target");
	return CTL_OK;
}

static const struct cmd cmds[] = {
	{ "list", do_list },
	{ "set", do_set },
	{ "unset", do_unset },
	{ "help", do_help },
};

int do_target(int argc, char **argv)
{
	return cmd_select(cmds, ARRAY_SIZE(cmds), "target", argc, argv);
}
