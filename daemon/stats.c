// SPDX-License-Identifier: GPL-2.0-or-later
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <json-c/json.h>
#include <string.h>

#include "bpfobj.h"
#include "stats.h"
#include "util.h"

static const char *const metric_names[MB_NR_METRICS] = {
	[MB_FIRST] = "first",
	[MB_BLACKOUT] = "blackout",
	[MB_UNMAP] = "unmap",
	[MB_FLUSH] = "flush",
	[MB_COPY] = "copy",
	[MB_TOTAL] = "total",
	[MB_WAIT] = "wait",
};

/* enum migrate_reason, with the kernel's own words for them. */
static const char *const reason_names[] = {
	"compaction", "memory_failure", "memory_hotplug", "syscall_or_cpuset", "mempolicy_mbind",
	"numa_misplaced", "contig_range", "longterm_pin", "demotion", "damon",
};

static const char *const limit_names[] = {
	[MB_LIMIT_NONE] = "none",
	[MB_LIMIT_TARGET] = "target",
	[MB_LIMIT_MAX_PAGES] = "max-pages",
	[MB_LIMIT_UNKNOWN] = "unknown",
	[MB_LIMIT_ONE_FOLIO] = "one-folio",
};

static const char *name_of(const char *const *names, size_t nr, unsigned int i)
{
	return i < nr && names[i] ? names[i] : "other";
}

const char *metric_name(unsigned int metric)
{
	return name_of(metric_names, ARRAY_SIZE(metric_names), metric);
}

const char *reason_name(unsigned int reason)
{
	return name_of(reason_names, ARRAY_SIZE(reason_names), reason);
}

const char *limit_name(unsigned int limit)
{
	return name_of(limit_names, ARRAY_SIZE(limit_names), limit);
}

/*
 * The walk restarts from the first key when a key is deleted under it; the bound keeps that from
 * going on for ever.
 */
#define WALK_MAX 1000000

int map_each(int fd, void *key, size_t key_size, int (*visit)(const void *key, void *data),
	     void *data)
{
	_cleanup_free_ char *next = malloc(key_size);
	void *prev = NULL;
	int ret = 0;

	if (!next)
		return -ENOMEM;
	for (unsigned int i = 0; !ret && i < WALK_MAX; i++) {
		if (bpf_map_get_next_key(fd, prev, next))
			return errno == ENOENT ? 0 : -errno;
		memcpy(key, next, key_size);
		prev = key;
		ret = visit(key, data);
	}
	return ret;
}

struct reader {
	const struct stats_query *query;
	struct json_object *stats;
	int fd;
	int nr_cpus;
	size_t value_size;
	void *values;		/* one value for each CPU */
};

static struct json_object *number(uint64_t value)
{
	return json_object_new_int64(value);
}

static void add_number(struct json_object *obj, const char *name, uint64_t value)
{
	json_object_object_add(obj, name, number(value));
}

static void add_string(struct json_object *obj, const char *name, const char *value)
{
	json_object_object_add(obj, name, value ? json_object_new_string(value) : NULL);
}

/* The object of a cgroup, made when it is seen first. */
static struct json_object *cgroup_get(struct reader *r, uint64_t id)
{
	struct json_object *obj, *value;

	for (size_t i = 0; i < json_object_array_length(r->stats); i++) {
		obj = json_object_array_get_idx(r->stats, i);
		json_object_object_get_ex(obj, "id", &value);
		if ((uint64_t)json_object_get_int64(value) == id)
			return obj;
	}
	obj = json_object_new_object();
	add_number(obj, "id", id);
	add_string(obj, "path", r->query->path_of(id, r->query->data));
	json_object_object_add(obj, "hist", json_object_new_array());
	json_object_object_add(obj, "counts", json_object_new_array());
	json_object_array_add(r->stats, obj);
	return obj;
}

static void cgroup_append(struct reader *r, uint64_t id, const char *list,
			  struct json_object *item)
{
	struct json_object *array;

	json_object_object_get_ex(cgroup_get(r, id), list, &array);
	json_object_array_add(array, item);
}

static bool wanted(const struct reader *r, uint64_t id)
{
	const char *below = r->query->below, *path;
	size_t len;

	if (!below || !strcmp(below, "/"))
		return true;
	path = r->query->path_of(id, r->query->data);
	len = strlen(below);
	return path && !strncmp(path, below, len) && (!path[len] || path[len] == '/');
}

static struct json_object *hist_json(const struct mb_hist_key *key, const struct mb_hist *h)
{
	struct json_object *obj = json_object_new_object();
	struct json_object *slots = json_object_new_array();
	int last = MB_HIST_SLOTS;

	while (last && !h->slots[last - 1])
		last--;
	for (int i = 0; i < last; i++)
		json_object_array_add(slots, number(h->slots[i]));
	add_string(obj, "metric", metric_name(key->metric));
	add_string(obj, "reason", key->metric == MB_WAIT ? NULL : reason_name(key->reason));
	add_number(obj, "count", h->count);
	add_number(obj, "sum_ns", h->sum_ns);
	add_number(obj, "max_ns", h->max_ns);
	json_object_object_add(obj, "slots", slots);
	return obj;
}

static int hist_visit(const void *data_key, void *data)
{
	const struct mb_hist_key *key = data_key;
	struct mb_hist sum = { 0 };
	struct reader *r = data;

	if (!wanted(r, key->cgroup_id) ||
	    (r->query->brief && key->metric != MB_FIRST && key->metric != MB_TOTAL))
		return 0;
	if (bpf_map_lookup_elem(r->fd, key, r->values))
		return 0;
	for (int cpu = 0; cpu < r->nr_cpus; cpu++) {
		const struct mb_hist *h = (void *)((char *)r->values + cpu * r->value_size);

		for (int i = 0; i < MB_HIST_SLOTS; i++)
			sum.slots[i] += h->slots[i];
		sum.count += h->count;
		sum.sum_ns += h->sum_ns;
		sum.max_ns = max_u64(sum.max_ns, h->max_ns);
	}
	cgroup_append(r, key->cgroup_id, "hist", hist_json(key, &sum));
	return 0;
}

static struct json_object *counts_json(const struct mb_counts_key *key, const struct mb_counts *c)
{
	struct json_object *obj = json_object_new_object();

	add_string(obj, "reason", reason_name(key->reason));
	add_number(obj, "batches", c->batches);
	add_number(obj, "retries", c->retries);
	add_number(obj, "moved_pages", c->moved_pages);
	add_number(obj, "failed_pages", c->failed_pages);
	add_number(obj, "dma_pages", c->dma_pages);
	add_number(obj, "cpu_pages", c->cpu_pages);
	add_number(obj, "errors", c->errors);
	add_number(obj, "fallback_pages", c->fallback_pages);
	add_number(obj, "last_batch_pages", c->last_batch_pages);
	add_number(obj, "last_channels", c->last_channels);
	add_number(obj, "last_depth", c->last_depth);
	add_number(obj, "last_when_ns", c->last_when_ns);
	return obj;
}

static int counts_visit(const void *data_key, void *data)
{
	const struct mb_counts_key *key = data_key;
	struct mb_counts sum = { 0 };
	struct reader *r = data;

	if (!wanted(r, key->cgroup_id) || bpf_map_lookup_elem(r->fd, key, r->values))
		return 0;
	for (int cpu = 0; cpu < r->nr_cpus; cpu++) {
		const struct mb_counts *c = (void *)((char *)r->values + cpu * r->value_size);

		sum.batches += c->batches;
		sum.retries += c->retries;
		sum.moved_pages += c->moved_pages;
		sum.failed_pages += c->failed_pages;
		sum.dma_pages += c->dma_pages;
		sum.cpu_pages += c->cpu_pages;
		sum.errors += c->errors;
		sum.fallback_pages += c->fallback_pages;
		/* Each CPU knows its own last batch: the newest is the last of all. */
		if (c->last_when_ns > sum.last_when_ns) {
			sum.last_when_ns = c->last_when_ns;
			sum.last_batch_pages = c->last_batch_pages;
			sum.last_channels = c->last_channels;
			sum.last_depth = c->last_depth;
		}
	}
	cgroup_append(r, key->cgroup_id, "counts", counts_json(key, &sum));
	return 0;
}

static int decision_visit(const void *key, void *data)
{
	struct json_object *obj;
	struct reader *r = data;
	struct mb_decision d;
	uint64_t id;

	memcpy(&id, key, sizeof(id));
	if (!wanted(r, id) || bpf_map_lookup_elem(r->fd, key, &d))
		return 0;
	obj = json_object_new_object();
	add_number(obj, "when_ns", d.when_ns);
	add_number(obj, "target_ns", d.target_ns);
	add_number(obj, "target_cgroup", d.target_cgroup);
	add_number(obj, "predicted_ns", d.predicted_ns);
	add_number(obj, "first_ns", d.first_ns);
	add_number(obj, "samples", d.samples);
	add_number(obj, "misses", d.misses);
	add_number(obj, "batch_pages", d.batch_pages);
	add_number(obj, "nr_channels", d.nr_channels);
	add_number(obj, "depth", d.depth);
	add_string(obj, "limit", limit_name(d.limit));
	json_object_object_add(cgroup_get(r, id), "decision", obj);
	return 0;
}

static int map_read(struct reader *r, const char *name, size_t key_size, size_t value_size,
		    int (*visit)(const void *key, void *data))
{
	char key[sizeof(struct mb_hist_key) + sizeof(struct mb_counts_key)];
	_cleanup_close_ int fd = pin_map_open(name, key_size, value_size);

	if (fd < 0)
		return fd;
	r->fd = fd;
	/* The kernel hands out per-CPU values in steps of 8 bytes. */
	r->value_size = (value_size + 7) & ~7UL;
	return map_each(fd, key, key_size, visit, r);
}

static int by_path(const void *a, const void *b)
{
	struct json_object *x = *(struct json_object **)a, *y = *(struct json_object **)b;
	struct json_object *px, *py;

	json_object_object_get_ex(x, "path", &px);
	json_object_object_get_ex(y, "path", &py);
	if (!px || !py)
		return !px - !py;
	return strcmp(json_object_get_string(px), json_object_get_string(py));
}

int stats_read(const struct stats_query *query, struct json_object **stats)
{
	struct reader r = { .query = query, .nr_cpus = libbpf_num_possible_cpus() };
	int err;

	if (r.nr_cpus < 0)
		return r.nr_cpus;
	r.values = calloc(r.nr_cpus, sizeof(struct mb_hist) + sizeof(struct mb_counts));
	r.stats = json_object_new_array();
	if (!r.values || !r.stats) {
		err = -ENOMEM;
		goto out;
	}

	err = map_read(&r, "hist", sizeof(struct mb_hist_key), sizeof(struct mb_hist), hist_visit);
	if (err)
		goto out;
	err = map_read(&r, "counts", sizeof(struct mb_counts_key), sizeof(struct mb_counts),
		       counts_visit);
	if (err && err != -ENOENT)
		goto out;
	/* Only some policies have it. */
	err = map_read(&r, "decisions", sizeof(uint64_t), sizeof(struct mb_decision),
		       decision_visit);
	if (err == -ENOENT)
		err = 0;
	if (!err)
		json_object_array_sort(r.stats, by_path);
out:
	free(r.values);
	if (err)
		json_object_put(r.stats);
	else
		*stats = r.stats;
	return err;
}
