// SPDX-License-Identifier: GPL-2.0-or-later
/* migbatchctl explain: what a cgroup's target does, and why it does not do more. */
#include <stdio.h>
#include <string.h>

#include "ctl.h"
#include "util.h"

static void print_target(struct json_object *obj)
{
	struct json_object *t = get_field(obj, "target");
	const char *owner = get_string(t, "owner"), *origin = get_string(t, "origin");
	const char *path = get_string(obj, "path");

	printf("  target:   %s\n", get_string(t, "text"));
	printf("  from:     %s%s%s%s%s\n", get_string(t, "source"), origin ? ", " : "",
	       origin ? origin : "", owner && strcmp(owner, path) ? ", inherited from " : "",
	       owner && strcmp(owner, path) ? owner : "");
}

static void print_policy(struct json_object *obj)
{
	struct json_object *p = get_field(obj, "policy");
	const char *loaded = get_string(p, "loaded");

	printf("  mode:     %s; policy %s%s%s\n", get_string(obj, "mode"), get_string(p, "state"),
	       loaded ? ": " : "", loaded ? loaded : "");
}

static void print_measured(struct json_object *m)
{
	char p50[NICE_MAX], p99[NICE_MAX], max[NICE_MAX];

	if (!m)
		return;
	printf("  measured: %lld batches, %lld pages moved (%lld by DMA); %s of %lld: P50 %s, P99 "
	       "%s, largest %s\n", (long long)get_number(m, "batches"),
	       (long long)get_number(m, "moved_pages"), (long long)get_number(m, "dma_pages"),
	       get_string(m, "signal"), (long long)get_number(m, "samples"),
	       nice_time(p50, get_number(m, "p50_ns")), nice_time(p99, get_number(m, "p99_ns")),
	       nice_time(max, get_number(m, "max_ns")));
}

static void print_decision(struct json_object *d)
{
	char predicted[NICE_MAX], last[NICE_MAX];

	if (!d) {
		puts("  decided:  nothing yet");
		return;
	}
	printf("  decided:  %lld samples, %lld over the target\n",
	       (long long)get_number(d, "samples"), (long long)get_number(d, "misses"));
	printf("  last:     %lld pages, depth %lld, %lld channels, segments of %lld bytes%s; expected "
	       "%s, had %s\n", (long long)get_number(d, "batch_pages"),
	       (long long)get_number(d, "depth"), (long long)get_number(d, "nr_channels"),
	       (long long)get_number(d, "segment_bytes"), get_bool(d, "trial") ? ", a trial" : "",
	       nice_time(predicted, get_number(d, "predicted_ns")),
	       nice_time(last, get_number(d, "last_ns")));
}

static void print_loop(struct json_object *l)
{
	if (l)
		printf("  aim:      %.1f%% of the target (slow loop %s; %lld of %lld missed in its "
		       "window)\n", get_number(l, "scale_milli") / 10.0, get_string(l, "state"),
		       (long long)get_number(l, "misses"), (long long)get_number(l, "samples"));
}

static void print_findings(struct json_object *list)
{
	for (size_t i = 0; i < json_object_array_length(list); i++) {
		struct json_object *f = json_object_array_get_idx(list, i);

		printf("%s%s: %s\n", i ? "" : "\n", get_string(f, "kind"), get_string(f, "text"));
	}
}

int do_explain(int argc, char **argv)
{
	struct json_object *request, *obj;
	int ret;

	if (argc != 1)
		return cmd_usage("explain");
	request = client_request("explain");
	add_string(request, "cgroup", argv[0]);
	ret = client_call(request, &obj, true);
	if (ret)
		return ret;
	if (ctl_json) {
		p_json(obj);
		return CTL_OK;
	}
	printf("%s\n", get_string(obj, "path"));
	print_target(obj);
	print_policy(obj);
	print_measured(get_field(obj, "measured"));
	print_decision(get_field(obj, "decision"));
	print_loop(get_field(obj, "loop"));
	print_findings(get_field(obj, "findings"));
	json_object_put(obj);
	return CTL_OK;
}
