// SPDX-License-Identifier: GPL-2.0-or-later
/* migbatchctl status: the kernel's own word first, then the daemon's. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ctl.h"
#include "kernel.h"
#include "util.h"

static const char *const attributes[] = {
	"policy", "provider", "max_pages", "max_channels", "default_pages", "default_channels",
	"reasons",
};

static const char *const counters[] = {
	"batches", "pages_dma", "pages_cpu", "fallback_provider", "fallback_busy",
	"fallback_folio", "fallback_nomem", "fallback_map", "fallback_prep", "fallback_error",
	"fallback_timeout", "clamped", "ejected",
};

static struct json_object *read_attributes(void)
{
	struct json_object *obj = json_object_new_object();

	for (size_t i = 0; i < ARRAY_SIZE(attributes); i++) {
		_cleanup_free_ char *path = path_join(KERNEL_SYSFS, attributes[i]);
		_cleanup_free_ char *text = NULL;

		if (path && !file_read(path, &text))
			add_string(obj, attributes[i], text);
	}
	return obj;
}

static struct json_object *read_counters(void)
{
	struct json_object *obj = json_object_new_object();
	uint64_t value;

	for (size_t i = 0; i < ARRAY_SIZE(counters); i++) {
		_cleanup_free_ char *path = path_join(KERNEL_SYSFS "/counters", counters[i]);

		if (path && !file_read_u64(path, &value))
			add_number(obj, counters[i], value);
	}
	return obj;
}

/* NULL when they may not be listed: that needs root. */
static struct json_object *read_links(void)
{
	struct kernel_link *links;
	struct json_object *list;
	unsigned int nr;

	if (kernel_links_read(&links, &nr)) {
		kernel_links_free(links, nr);
		return NULL;
	}
	list = json_object_new_array();
	for (unsigned int i = 0; i < nr; i++) {
		struct json_object *obj = json_object_new_object();

		add_number(obj, "id", links[i].id);
		add_number(obj, "map_id", links[i].map_id);
		add_string(obj, "name", links[i].map_name);
		add_string(obj, "pin", links[i].pin);
		json_object_array_add(list, obj);
	}
	kernel_links_free(links, nr);
	return list;
}

static struct json_object *read_kernel(void)
{
	struct json_object *obj;

	if (access(KERNEL_SYSFS, F_OK))
		return NULL;
	obj = read_attributes();
	json_object_object_add(obj, "links", read_links());
	json_object_object_add(obj, "counters", read_counters());
	return obj;
}

static struct json_object *read_dcbm(void)
{
	_cleanup_free_ char *enabled = NULL, *channels = NULL;
	struct json_object *obj, *list;
	char *line, *rest = NULL;

	if (file_read(KERNEL_DCBM "/enabled", &enabled))
		return NULL;
	obj = json_object_new_object();
	list = json_object_new_array();
	add_string(obj, "enabled", enabled);
	if (!file_read(KERNEL_DCBM "/channels", &channels))
		for (line = strtok_r(channels, "\n", &rest); line;
		     line = strtok_r(NULL, "\n", &rest))
			json_object_array_add(list, json_object_new_string(line));
	json_object_object_add(obj, "channels", list);
	return obj;
}

static void print_links(struct json_object *links)
{
	if (!links) {
		puts("  link: not listed (needs root)");
		return;
	}
	for (size_t i = 0; i < json_object_array_length(links); i++) {
		struct json_object *l = json_object_array_get_idx(links, i);
		const char *pin = get_string(l, "pin");

		printf("  link: id %lld, %s, map id %lld, %s%s\n", (long long)get_number(l, "id"),
		       get_string(l, "name"), (long long)get_number(l, "map_id"),
		       pin ? "pinned at " : "held by a process or pinned elsewhere",
		       pin ? pin : "");
	}
}

static void print_counters(struct json_object *c)
{
	printf("  batches: %lld, pages by DMA %lld, by CPU %lld\n",
	       (long long)get_number(c, "batches"), (long long)get_number(c, "pages_dma"),
	       (long long)get_number(c, "pages_cpu"));
	json_object_object_foreach(c, name, value) {
		if (!strncmp(name, "fallback_", 9) && json_object_get_int64(value))
			printf("  pages that fell back to the CPU, cause %s: %lld\n", name + 9,
			       (long long)json_object_get_int64(value));
	}
	if (get_number(c, "clamped") || get_number(c, "ejected"))
		printf("  policy values clamped: %lld, policies ejected: %lld\n",
		       (long long)get_number(c, "clamped"), (long long)get_number(c, "ejected"));
}

static const char *or_none(const char *text)
{
	return text && *text ? text : "none";
}

static void print_kernel(struct json_object *k)
{
	if (!k) {
		puts("kernel: without the migbatch series (no " KERNEL_SYSFS ")");
		return;
	}
	printf("kernel: policy %s\n", or_none(get_string(k, "policy")));
	print_links(get_field(k, "links"));
	printf("  provider: %s\n", or_none(get_string(k, "provider")));
	printf("  limits: max_pages %s, max_channels %s, reasons %s\n",
	       or_none(get_string(k, "max_pages")), or_none(get_string(k, "max_channels")),
	       or_none(get_string(k, "reasons")));
	printf("  default: %s pages, %s channels\n", or_none(get_string(k, "default_pages")),
	       or_none(get_string(k, "default_channels")));
	print_counters(get_field(k, "counters"));
}

static void print_dcbm(struct json_object *d)
{
	struct json_object *channels;

	if (!d)
		return;
	channels = get_field(d, "channels");
	printf("dcbm: enabled %s, %zu channels\n", get_string(d, "enabled"),
	       json_object_array_length(channels));
	for (size_t i = 0; i < json_object_array_length(channels); i++)
		printf("  %s\n", json_object_get_string(json_object_array_get_idx(channels, i)));
}

/* What the daemon has to say about one thing, when it has. */
static void print_text(struct json_object *obj, const char *name, const char *before)
{
	const char *text = get_string(obj, name);

	if (text)
		printf("%s%s\n", before, text);
}

static void print_daemon(struct json_object *d)
{
	struct json_object *policy, *observer;

	if (!get_bool(d, "running")) {
		puts("daemon: does not answer");
		return;
	}
	policy = get_field(d, "policy");
	observer = get_field(d, "observer");
	printf("daemon: version %s, mode %s\n", get_string(d, "version"), get_string(d, "mode"));
	printf("  policy: %s, wanted %s, loaded %s\n", get_string(policy, "state"),
	       or_none(get_string(policy, "wanted")), or_none(get_string(policy, "loaded")));
	print_text(policy, "error", "    ");
	printf("  observer: %s\n", !get_bool(observer, "running") ? "not running" :
	       get_bool(observer, "plain") ? "running, as far as an unpatched kernel allows" :
					     "running");
	print_text(observer, "error", "    ");
	printf("  cgroups: %lld, with a target of their own %lld, missing it %lld\n",
	       (long long)get_number(d, "cgroups"), (long long)get_number(d, "targets"),
	       (long long)get_number(d, "missing"));
	print_text(d, "kernel_advice", "  OBSERVING ONLY: ");
	print_text(d, "config_error", "  last reload refused, the old configuration is kept: ");
}

int do_status(int argc, char **argv)
{
	struct json_object *obj;
	int ret;

	(void)argv;
	if (argc)
		return cmd_usage("status");
	ret = client_call(client_request("status"), &obj, false);
	if (ret == CTL_FAILED)
		return ret;
	if (ret)
		obj = json_object_new_object();
	add_bool(obj, "running", !ret);
	json_object_object_add(obj, "kernel", read_kernel());
	json_object_object_add(obj, "dcbm", read_dcbm());
	if (ctl_json) {
		p_json(obj);
		return ret;
	}
	print_kernel(get_field(obj, "kernel"));
	print_dcbm(get_field(obj, "dcbm"));
	print_daemon(obj);
	json_object_put(obj);
	return ret;
}
