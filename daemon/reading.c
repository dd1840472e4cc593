// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <json-c/json.h>
#include <string.h>
#include <unistd.h>

#include "reading.h"
#include "target.h"
#include "util.h"

static const char *const verdict_names[] = {
	[VERDICT_NO_TARGET] = "no-target",
	[VERDICT_IDLE] = "idle",
	[VERDICT_MEETS] = "meets",
	[VERDICT_MISSES] = "MISSES",
};

const char *verdict_name(enum verdict verdict)
{
	return verdict_names[verdict];
}

static struct json_object *get_field(struct json_object *obj, const char *name)
{
	struct json_object *field = NULL;

	json_object_object_get_ex(obj, name, &field);
	return field;
}

static int64_t get_number(struct json_object *obj, const char *name)
{
	return json_object_get_int64(get_field(obj, name));
}

static const char *get_string(struct json_object *obj, const char *name)
{
	struct json_object *field = get_field(obj, name);

	return field ? json_object_get_string(field) : NULL;
}

/* 0 for what is no array: an answer of another version must not end the program. */
static size_t array_length(struct json_object *array)
{
	return json_object_is_type(array, json_type_array) ? json_object_array_length(array) : 0;
}

static void parse_hist(struct json_object *obj, struct mb_hist *sum)
{
	struct json_object *slots = get_field(obj, "slots");
	struct mb_hist h = {
		.count = get_number(obj, "count"),
		.sum_ns = get_number(obj, "sum_ns"),
		.max_ns = get_number(obj, "max_ns"),
	};

	for (size_t i = 0; i < array_length(slots) && i < MB_HIST_SLOTS; i++)
		h.slots[i] = json_object_get_int64(json_object_array_get_idx(slots, i));
	hist_add(sum, &h);
}

static void parse_counts(struct json_object *obj, struct reading *r)
{
	uint64_t when = get_number(obj, "last_when_ns");

	r->moved_pages += get_number(obj, "moved_pages");
	r->dma_pages += get_number(obj, "dma_pages");
	r->batches += get_number(obj, "batches");
	if (when < r->when_ns)
		return;
	r->when_ns = when;
	r->batch_pages = get_number(obj, "last_batch_pages");
	r->channels = get_number(obj, "last_channels");
}

static void parse_cgroup(struct json_object *obj, struct reading *r)
{
	struct json_object *hist = get_field(obj, "hist"), *counts = get_field(obj, "counts");
	struct json_object *target = get_field(obj, "target"), *decision = NULL;
	const char *path = get_string(obj, "path");

	r->id = get_number(obj, "id");
	r->path = path ? strdup(path) : NULL;
	for (size_t i = 0; i < array_length(hist); i++) {
		struct json_object *h = json_object_array_get_idx(hist, i);
		const char *metric = get_string(h, "metric");

		if (!metric)
			continue;
		if (!strcmp(metric, "first"))
			parse_hist(h, &r->first);
		else if (!strcmp(metric, "total"))
			parse_hist(h, &r->total);
	}
	for (size_t i = 0; i < array_length(counts); i++)
		parse_counts(json_object_array_get_idx(counts, i), r);

	r->pct_milli = TARGET_PCT_DEFAULT;
	if (target) {
		r->target_ns = get_number(target, "target_ns");
		r->pct_milli = get_number(target, "pct_milli");
	}
	decision = get_field(obj, "decision");
	if (!decision)
		return;
	r->decided = true;
	r->samples = get_number(decision, "samples");
	r->misses = get_number(decision, "misses");
	if (!target)
		r->target_ns = get_number(decision, "target_ns");
}

static void reading_merge(struct reading *to, const struct reading *from)
{
	hist_add(&to->first, &from->first);
	hist_add(&to->total, &from->total);
	to->moved_pages += from->moved_pages;
	to->dma_pages += from->dma_pages;
	to->batches += from->batches;
	to->decided |= from->decided;
	to->samples += from->samples;
	to->misses += from->misses;
	if (from->when_ns <= to->when_ns)
		return;
	to->when_ns = from->when_ns;
	to->batch_pages = from->batch_pages;
	to->channels = from->channels;
}

/* Whose target is in force for it; NULL for a cgroup that stands for itself. */
static const char *owner_of(struct json_object *obj)
{
	struct json_object *target = get_field(obj, "target");
	const char *owner = target ? get_string(target, "owner") : NULL;
	const char *path = get_string(obj, "path");

	return owner && path && strcmp(owner, path) ? owner : NULL;
}

static struct reading *reading_of_path(struct readings *readings, const char *path)
{
	for (size_t i = 0; i < readings->nr; i++)
		if (readings->list[i].path && !strcmp(readings->list[i].path, path))
			return &readings->list[i];
	return NULL;
}

static void parse_into_owner(struct readings *readings, struct json_object *obj, const char *owner)
{
	struct reading *to = reading_of_path(readings, owner), r = { 0 };

	parse_cgroup(obj, &r);
	if (to) {
		reading_merge(to, &r);
		free(r.path);
	} else {
		readings->list[readings->nr++] = r;
	}
}

int readings_parse(struct readings *readings, struct json_object *cgroups, uint64_t when_ns)
{
	size_t nr = array_length(cgroups);

	*readings = (struct readings){ .when_ns = when_ns };
	readings->list = calloc(nr + 1, sizeof(*readings->list));
	if (!readings->list)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		struct json_object *obj = json_object_array_get_idx(cgroups, i);

		if (!owner_of(obj))
			parse_cgroup(obj, &readings->list[readings->nr++]);
	}
	for (size_t i = 0; i < nr; i++) {
		struct json_object *obj = json_object_array_get_idx(cgroups, i);
		const char *owner = owner_of(obj);

		if (owner)
			parse_into_owner(readings, obj, owner);
	}
	return 0;
}

void readings_free(struct readings *r)
{
	for (size_t i = 0; i < r->nr; i++)
		free(r->list[i].path);
	free(r->list);
	*r = (struct readings){ 0 };
}

struct reading *reading_find(const struct readings *r, uint64_t id)
{
	for (size_t i = 0; i < r->nr; i++)
		if (r->list[i].id == id)
			return &r->list[i];
	return NULL;
}

/*
 * The policy's own count is exact. Without one the histogram decides, where it can; when the
 * target lies within the slot of the percentile, the estimate within the slot does.
 */
static enum verdict judge(const struct reading *r, const struct mb_hist *first, uint64_t samples,
			  uint64_t misses)
{
	int meets;

	if (!r->target_ns)
		return VERDICT_NO_TARGET;
	if (!first->count && !samples)
		return VERDICT_IDLE;
	if (samples)
		return misses * 100000 <= samples * (100000 - r->pct_milli) ? VERDICT_MEETS :
									      VERDICT_MISSES;
	meets = hist_meets(first, r->pct_milli, r->target_ns);
	if (meets < 0)
		meets = hist_quantile(first, r->pct_milli) <= r->target_ns;
	return meets ? VERDICT_MEETS : VERDICT_MISSES;
}

static uint64_t since(uint64_t now, uint64_t before)
{
	return now < before ? now : now - before;
}

void change_between(struct change *change, const struct reading *now, const struct reading *before,
		    uint64_t elapsed_ns)
{
	static const struct reading nothing;
	uint64_t pages, page_size = sysconf(_SC_PAGESIZE), samples;
	struct mb_hist total;

	if (!before)
		before = &nothing;
	change->now = now;
	hist_since(&change->first, &now->first, &before->first);
	hist_since(&total, &now->total, &before->total);
	pages = since(now->moved_pages, before->moved_pages);
	samples = since(now->samples, before->samples);
	change->batches = since(now->batches, before->batches);
	change->misses = since(now->misses, before->misses);
	/* Bytes per ns are GB per s. Without the time of whole batches the interval must do. */
	change->gb_per_s = (double)pages * page_size /
			max_u64(1, total.sum_ns ? total.sum_ns : elapsed_ns);
	change->dma_share = pages ? (double)since(now->dma_pages, before->dma_pages) / pages : 0;
	change->verdict = judge(now, &change->first, samples, change->misses);
	change->overall = judge(now, &now->first, now->samples, now->misses);
	change->advice = 0;
	if (now->target_ns && change->first.count && now->batch_pages && !now->decided)
		change->advice = batch_advice(now->batch_pages,
					   hist_quantile(&change->first, now->pct_milli),
					   now->target_ns);
}
