// SPDX-License-Identifier: GPL-2.0-or-later
/* migbatchctl top: each cgroup's delay against its target, live. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "ctl.h"
#include "reading.h"
#include "util.h"

#define INTERVAL_DEFAULT_NS (2 * NSEC_PER_SEC)
#define INTERVAL_MIN_NS (100 * NSEC_PER_MSEC)
#define INTERVAL_MAX_NS (3600 * NSEC_PER_SEC)

static int read_once(struct readings *out, char **mode)
{
	struct json_object *answer;
	const char *text;
	int ret = ctl_stats(NULL, true, &answer);

	if (ret)
		return ret;
	if (readings_parse(out, get_field(answer, "cgroups"), get_number(answer, "when_ns"))) {
		p_err("out of memory");
		ret = CTL_FAILED;
	}
	/* Without a daemon there is no mode. */
	text = get_string(answer, "mode");
	free(*mode);
	*mode = text ? strdup(text) : NULL;
	json_object_put(answer);
	return ret;
}

static struct json_object *row_json(const struct change *row)
{
	const struct reading *r = row->now;
	struct json_object *obj = json_object_new_object();

	add_string(obj, "path", r->path);
	add_number(obj, "id", r->id);
	add_number(obj, "target_ns", r->target_ns);
	add_number(obj, "pct_milli", r->pct_milli);
	add_number(obj, "batches", row->batches);
	add_number(obj, "p50_ns", hist_quantile(&row->first, 50000));
	add_number(obj, "p99_ns", hist_quantile(&row->first, 99000));
	add_number(obj, "batch_pages", r->batch_pages);
	add_number(obj, "channels", r->channels);
	json_object_object_add(obj, "gb_per_s", json_object_new_double(row->gb_per_s));
	json_object_object_add(obj, "dma_share", json_object_new_double(row->dma_share));
	add_string(obj, "verdict", verdict_name(row->verdict));
	if (row->advice)
		add_number(obj, "advice_pages", row->advice);
	add_number(obj, "all_batches", r->batches);
	add_number(obj, "all_p50_ns", hist_quantile(&r->first, 50000));
	add_number(obj, "all_p99_ns", hist_quantile(&r->first, 99000));
	add_number(obj, "all_max_ns", r->first.max_ns);
	if (r->decided) {
		add_number(obj, "misses", row->misses);
		add_number(obj, "all_samples", r->samples);
		add_number(obj, "all_misses", r->misses);
	}
	add_string(obj, "all_verdict", verdict_name(row->overall));
	return obj;
}

#define PATH_WIDTH 26

static void print_header(void)
{
	printf("%-*s %8s %8s %8s %8s %8s %7s %3s %6s %8s %6s  %-9s %s\n", PATH_WIDTH, "CGROUP",
	       "TARGET", "P50", "P99", "P50-ALL", "P99-ALL", "BATCH", "CH", "GB/S", "BATCHES",
	       "MISSED", "VERDICT", "OVERALL");
}

static void print_row(const struct change *row)
{
	char target[NICE_MAX], p50[NICE_MAX], p99[NICE_MAX], all50[NICE_MAX], all99[NICE_MAX];
	const struct reading *r = row->now;
	char misses[24] = "-";
	const char *path = r->path ? r->path : "(gone)";
	size_t len = strlen(path);

	if (r->decided)
		snprintf(misses, sizeof(misses), "%llu", (unsigned long long)row->misses);
	/* The end of a path says more than its beginning. */
	if (len > PATH_WIDTH)
		path += len - PATH_WIDTH;
	printf("%-*s %8s %8s %8s %8s %8s %7llu %3llu %6.2f %8llu %6s  %-9s %s", PATH_WIDTH, path,
	       nice_time(target, r->target_ns),
	       nice_time(p50, hist_quantile(&row->first, 50000)),
	       nice_time(p99, hist_quantile(&row->first, 99000)),
	       nice_time(all50, hist_quantile(&r->first, 50000)),
	       nice_time(all99, hist_quantile(&r->first, 99000)),
	       (unsigned long long)r->batch_pages, (unsigned long long)r->channels,
	       row->gb_per_s, (unsigned long long)row->batches, misses,
	       verdict_name(row->verdict), verdict_name(row->overall));
	if (row->advice)
		printf("  (a batch of %llu pages would fit)", (unsigned long long)row->advice);
	putchar('\n');
}

struct options {
	uint64_t interval_ns;
	uint32_t count;		/* 0: until interrupted */
	bool plain;
};

static void print_table(const struct readings *now, const struct readings *before,
			const struct options *o, bool first)
{
	bool clear = !o->plain && isatty(STDOUT_FILENO);
	struct change row;

	if (clear)
		fputs("\033[H\033[J", stdout);
	if (clear || first)
		print_header();
	for (size_t i = 0; i < now->nr; i++) {
		change_between(&row, &now->list[i], reading_find(before, now->list[i].id),
			 now->when_ns - before->when_ns);
		print_row(&row);
	}
	if (!now->nr)
		puts("(no batch of page migration was seen yet)");
	fflush(stdout);
}

static void print_json(const struct readings *now, const struct readings *before, const char *mode)
{
	struct json_object *obj = json_object_new_object(), *list = json_object_new_array();
	struct change row;

	add_number(obj, "when_ns", now->when_ns);
	add_number(obj, "interval_ns", now->when_ns - before->when_ns);
	add_string(obj, "mode", mode);
	for (size_t i = 0; i < now->nr; i++) {
		change_between(&row, &now->list[i], reading_find(before, now->list[i].id),
			 now->when_ns - before->when_ns);
		json_object_array_add(list, row_json(&row));
	}
	json_object_object_add(obj, "cgroups", list);
	p_json(obj);
}

static void pause_ns(uint64_t ns)
{
	struct timespec ts = { ns / NSEC_PER_SEC, ns % NSEC_PER_SEC };

	while (nanosleep(&ts, &ts) < 0 && errno == EINTR)
		;
}

static int run(const struct options *o)
{
	struct readings before = { 0 }, now = { 0 };
	_cleanup_free_ char *mode = NULL;
	int ret = read_once(&before, &mode);

	for (uint32_t i = 0; !ret && (!o->count || i < o->count); i++) {
		pause_ns(o->interval_ns);
		ret = read_once(&now, &mode);
		if (ret)
			break;
		if (ctl_json)
			print_json(&now, &before, mode);
		else
			print_table(&now, &before, o, !i);
		readings_free(&before);
		before = now;
		now = (struct readings){ 0 };
	}
	readings_free(&before);
	return ret;
}

/* Seconds without a unit are taken here, as vmstat and its like take them. */
static bool parse_interval(const char *text, uint64_t *ns)
{
	_cleanup_free_ char *seconds = str_printf("%ss", text);

	if (parse_time(text, ns) && (!seconds || parse_time(seconds, ns)))
		return false;
	return *ns >= INTERVAL_MIN_NS && *ns <= INTERVAL_MAX_NS;
}

int do_top(int argc, char **argv)
{
	static const struct option long_options[] = {
		{ "count", required_argument, NULL, 'n' },
		{ "interval", required_argument, NULL, 'd' },
		{ "plain", no_argument, NULL, 'P' },
		{ 0 }
	};
	struct options o = { .interval_ns = INTERVAL_DEFAULT_NS };
	int opt;

	/* getopt starts behind the word before the options, which is the object's name. */
	optind = 1;
	while ((opt = getopt_long(argc + 1, argv - 1, "n:d:", long_options, NULL)) >= 0) {
		switch (opt) {
		case 'n':
			if (parse_u32(optarg, &o.count)) {
				p_err("'%s' is not a number of rounds", optarg);
				return CTL_USAGE;
			}
			break;
		case 'd':
			if (!parse_interval(optarg, &o.interval_ns)) {
				p_err("'%s' is not an interval: 0.1 to 3600 seconds, or a time "
				      "with unit as in 500ms", optarg);
				return CTL_USAGE;
			}
			break;
		case 'P':
			o.plain = true;
			break;
		default:
			return cmd_usage("top");
		}
	}
	if (optind != argc + 1)
		return cmd_usage("top");
	return run(&o);
}
