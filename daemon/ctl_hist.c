// SPDX-License-Identifier: GPL-2.0-or-later
/* migbatchctl hist: log2 histograms in the form of bcc's tools. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cgroups.h"
#include "ctl.h"
#include "resolve.h"
#include "stats.h"
#include "util.h"

#define STARS 40

static const char *const titles[][2] = {
	{ "first", "first-folio delay of a batch" },
	{ "blackout", "blackout of a folio" },
	{ "unmap", "unmapping of a batch" },
	{ "flush", "TLB flush of a batch" },
	{ "copy", "wait for the copy engine" },
	{ "total", "whole batch" },
	{ "wait", "wait of a task on a migration entry" },
};

static const char *title_of(const char *metric)
{
	for (size_t i = 0; i < ARRAY_SIZE(titles); i++)
		if (!strcmp(titles[i][0], metric))
			return titles[i][1];
	return NULL;
}

static void ignore_gone(struct cgroup *cgroup, void *data)
{
	(void)cgroup;
	(void)data;
}

static const char *path_of(uint64_t id, void *data)
{
	struct cgroup *c = cgroup_by_id(data, id);

	return c ? c->path : NULL;
}

static int read_maps(struct cgroups *cgroups, const char *cgroup, bool brief,
		     struct json_object **answer)
{
	struct stats_query query = { .brief = brief, .path_of = path_of, .data = cgroups };
	_cleanup_free_ char *path = NULL;
	struct json_object *stats;
	int err;

	if (cgroup) {
		path = cgroup_path_clean(cgroup, cgroups->root);
		if (!path || !cgroup_by_path(cgroups, path)) {
			p_err("no such cgroup: %s", cgroup);
			return CTL_FAILED;
		}
		query.below = path;
	}
	err = stats_read(&query, &stats);
	if (err) {
		p_err("migbatchd is not running, and it left no figures behind: %s",
		      strerror(-err));
		return CTL_NO_DAEMON;
	}
	*answer = json_object_new_object();
	add_number(*answer, "when_ns", now_ns());
	json_object_object_add(*answer, "cgroups", stats);
	return CTL_OK;
}

static int stats_without_daemon(const char *cgroup, bool brief, struct json_object **answer)
{
	_cleanup_free_ char *root = cgroup_root_find();
	struct cgroups cgroups;
	int ret;

	if (geteuid()) {
		p_err("migbatchd does not answer; without it only root can read the figures");
		return CTL_NO_DAEMON;
	}
	if (!root || cgroups_open(&cgroups, root) ||
	    cgroups_scan(&cgroups, ignore_gone, NULL)) {
		p_err("migbatchd is not running, and no cgroup2 file system is mounted");
		return CTL_NO_DAEMON;
	}
	ret = read_maps(&cgroups, cgroup, brief, answer);
	cgroups_close(&cgroups);
	return ret;
}

int ctl_stats(const char *cgroup, bool brief, struct json_object **answer)
{
	struct json_object *request = client_request("stats");
	int ret;

	if (cgroup)
		add_string(request, "cgroup", cgroup);
	add_bool(request, "brief", brief);
	ret = client_call(request, answer, false);
	return ret == CTL_NO_DAEMON ? stats_without_daemon(cgroup, brief, answer) : ret;
}

static void print_bar(int64_t value, int64_t most)
{
	int stars = most ? value * STARS / most : 0;

	printf("|%.*s%*s|\n", stars, "****************************************", STARS - stars, "");
}

static void print_slots(struct json_object *slots)
{
	size_t nr = json_object_array_length(slots), first = nr;
	int64_t most = 0;

	for (size_t i = 0; i < nr; i++) {
		int64_t n = json_object_get_int64(json_object_array_get_idx(slots, i));

		if (n && first == nr)
			first = i;
		if (n > most)
			most = n;
	}
	printf("     %-20s    : count     distribution\n", "nsecs");
	for (size_t i = first; i < nr; i++) {
		int64_t n = json_object_get_int64(json_object_array_get_idx(slots, i));

		printf("%10llu -> %-10llu : %-8lld ", i ? 1ULL << i : 0ULL, (2ULL << i) - 1,
		       (long long)n);
		print_bar(n, most);
	}
}

static void print_hist(struct json_object *cgroup, struct json_object *hist)
{
	const char *path = get_string(cgroup, "path"), *reason = get_string(hist, "reason");
	const char *metric = get_string(hist, "metric"), *title = title_of(metric);
	int64_t count = get_number(hist, "count"), sum = get_number(hist, "sum_ns");

	if (path)
		printf("\ncgroup = %s", path);
	else
		printf("\ncgroup = (gone, id %lld)", (long long)get_number(cgroup, "id"));
	if (reason)
		printf(", reason = %s", reason);
	printf(", %s = %s\n", metric, title ? title : metric);
	print_slots(get_field(hist, "slots"));
	printf("avg = %lld nsecs, total: %lld nsecs, count: %lld, max: %lld nsecs\n",
	       (long long)(count ? sum / count : 0), (long long)sum, (long long)count,
	       (long long)get_number(hist, "max_ns"));
}

/* Leaves only the histograms of @metric. */
static void keep_metric(struct json_object *cgroup, const char *metric)
{
	struct json_object *hist = get_field(cgroup, "hist"), *kept = json_object_new_array();

	for (size_t i = 0; i < json_object_array_length(hist); i++) {
		struct json_object *h = json_object_array_get_idx(hist, i);

		if (!strcmp(get_string(h, "metric"), metric))
			json_object_array_add(kept, json_object_get(h));
	}
	json_object_object_add(cgroup, "hist", kept);
}

static void print_all(struct json_object *cgroups)
{
	size_t printed = 0;

	for (size_t i = 0; i < json_object_array_length(cgroups); i++) {
		struct json_object *cgroup = json_object_array_get_idx(cgroups, i);
		struct json_object *hist = get_field(cgroup, "hist");

		for (size_t k = 0; k < json_object_array_length(hist); k++, printed++)
			print_hist(cgroup, json_object_array_get_idx(hist, k));
	}
	if (!printed)
		puts("no batch of page migration was seen yet");
}

int do_hist(int argc, char **argv)
{
	const char *cgroup = NULL, *metric = NULL;
	struct json_object *answer, *cgroups;
	int ret;

	if (argc && strcmp(argv[0], "metric")) {
		if (!strcmp(argv[0], "help")) {
			cmd_usage("hist");
			return CTL_OK;
		}
		cgroup = *argv++;
		argc--;
	}
	if (argc == 2 && !strcmp(argv[0], "metric")) {
		metric = argv[1];
		argc = 0;
	}
	if (argc || (metric && !title_of(metric)))
		return cmd_usage("hist");

	ret = ctl_stats(cgroup, false, &answer);
	if (ret)
		return ret;
	cgroups = get_field(answer, "cgroups");
	for (size_t i = 0; metric && i < json_object_array_length(cgroups); i++)
		keep_metric(json_object_array_get_idx(cgroups, i), metric);
	if (ctl_json) {
		p_json(answer);
		return CTL_OK;
	}
	print_all(cgroups);
	json_object_put(answer);
	return CTL_OK;
}
