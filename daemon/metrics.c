// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "histogram.h"
#include "metrics.h"
#include "util.h"

/* Buckets from 2^10 ns (1 us) to 2^30 ns (1 s): what is outside is in the first or in +Inf. */
#define BUCKET_FIRST 10
#define BUCKET_LAST 30

void figures_add_counts(struct figures *to, unsigned int reason, const struct mb_counts *counts)
{
	struct mb_counts *c = &to->counts[min_u64(reason, METRICS_REASONS - 1)];

	c->batches += counts->batches;
	c->retries += counts->retries;
	c->moved_pages += counts->moved_pages;
	c->failed_pages += counts->failed_pages;
	c->dma_pages += counts->dma_pages;
	c->cpu_pages += counts->cpu_pages;
	c->errors += counts->errors;
	c->fallback_pages += counts->fallback_pages;
}

void figures_add(struct figures *to, const struct figures *from)
{
	for (int i = 0; i < MB_NR_METRICS; i++)
		hist_add(&to->hist[i], &from->hist[i]);
	for (int i = 0; i < METRICS_REASONS; i++)
		figures_add_counts(to, i, &from->counts[i]);
}

/* The length of a UTF-8 sequence that is well-formed as far as its bits go, else 0. */
static int utf8_length(const unsigned char *p)
{
	int len = p[0] < 0x80 ? 1 : p[0] >= 0xc2 && p[0] < 0xe0 ? 2 :
		  (p[0] & 0xf0) == 0xe0 ? 3 : p[0] >= 0xf0 && p[0] < 0xf5 ? 4 : 0;

	for (int i = 1; i < len; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	return len;
}

/* A cgroup may have any name, the format takes UTF-8 with three escapes. */
static void write_label(FILE *out, const char *name, const char *value)
{
	const unsigned char *p = (const unsigned char *)value;

	fprintf(out, "%s=\"", name);
	while (*p) {
		int len = utf8_length(p);

		if (*p == '\n')
			fputs("\\n", out);
		else if (*p == '"' || *p == '\\')
			fprintf(out, "\\%c", *p);
		else if (len)
			fwrite(p, len, 1, out);
		else
			putc('?', out);
		p += len ? len : 1;
	}
	putc('"', out);
}

static void write_head(FILE *out, const char *name, const char *type, const char *help)
{
	fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void write_number(FILE *out, const char *name, uint64_t value)
{
	fprintf(out, "%s %llu\n", name, (unsigned long long)value);
}

/* A time in seconds, exact to the nanosecond. */
static void write_seconds(FILE *out, uint64_t ns)
{
	fprintf(out, "%llu.%09llu", (unsigned long long)(ns / NSEC_PER_SEC),
		(unsigned long long)(ns % NSEC_PER_SEC));
}

static void write_cgroup(FILE *out, const char *name, const struct metrics_cgroup *c)
{
	fprintf(out, "%s{", name);
	write_label(out, "cgroup", c->path);
}

/* One of several states: each is there, one is 1. */
static void write_states(FILE *out, const char *name, const char *label, const char *help,
			 const char *const *states, const char *now)
{
	write_head(out, name, "gauge", help);
	for (; *states; states++) {
		fprintf(out, "%s{", name);
		write_label(out, label, *states);
		fprintf(out, "} %d\n", !strcmp(*states, now));
	}
}

static void write_daemon(FILE *out, const struct metrics *m)
{
	const struct {
		const char *name;
		const char *help;
		uint64_t value;
	} gauges[] = {
		{ "migbatch_observer_up", "Whether batches are measured.", m->observing },
		{ "migbatch_cgroups", "Cgroups that exist.", m->nr_cgroups },
		{ "migbatch_targets", "Cgroups with a target of their own.", m->nr_targets },
		{ "migbatch_targets_missed", "Of these, those that miss it now.", m->nr_missing },
		{ "migbatch_series_cgroups", "Cgroups with series of their own.", m->nr_series },
		{ "migbatch_series_cgroups_limit", "Most that may have; the rest is summed up as other.",
		  m->max_series },
	};

	write_head(out, "migbatch_build_info", "gauge", "Always 1; the version is a label.");
	fputs("migbatch_build_info{", out);
	write_label(out, "version", m->version);
	fputs("} 1\n", out);
	write_states(out, "migbatch_mode", "mode", "1 for the mode of the daemon.", m->modes,
		     m->mode);
	write_states(out, "migbatch_policy_state", "state", "1 for the state of the policy.",
		     m->policy_states, m->policy_state);
	for (size_t i = 0; i < ARRAY_SIZE(gauges); i++) {
		write_head(out, gauges[i].name, "gauge", gauges[i].help);
		write_number(out, gauges[i].name, gauges[i].value);
	}
	write_head(out, "migbatch_lost_values_total", "counter",
		   "Values that were not counted because a map was full.");
	write_number(out, "migbatch_lost_values_total", m->lost);
}

/* The kernel's own counters, of all cgroups: files of /sys/kernel/mm/migrate_batch/counters. */
static void write_kernel(FILE *out, const struct metrics *m)
{
	static const struct {
		const char *prefix;	/* of the file's name; the rest of it is the label */
		const char *name;
		const char *label;
		const char *help;
		bool pages;
	} families[] = {
		{ "batches", "migbatch_kernel_batches_total", NULL, "Batches.", false },
		{ "pages_", "migbatch_kernel_copied_bytes_total", "engine",
		  "Bytes copied, by engine.", true },
		{ "fallback_", "migbatch_kernel_fallback_bytes_total", "cause",
		  "Bytes meant for an engine that the processor copied, by cause.", true },
		{ "clamped", "migbatch_kernel_clamped_total", NULL,
		  "Values of policies that were out of bounds.", false },
		{ "ejected", "migbatch_kernel_ejected_total", NULL,
		  "Policies that the kernel let go.", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
		size_t len = strlen(families[i].prefix), nr = 0;

		for (size_t k = 0; k < m->nr_kernel; k++) {
			const struct metrics_counter *c = &m->kernel[k];

			if (strncmp(c->name, families[i].prefix, len))
				continue;
			if (!nr++)
				write_head(out, families[i].name, "counter", families[i].help);
			fputs(families[i].name, out);
			if (families[i].label) {
				putc('{', out);
				write_label(out, families[i].label, c->name + len);
				putc('}', out);
			}
			write_number(out, "", families[i].pages ? c->value * m->page_size :
								  c->value);
		}
	}
}

/* Of cgroups with a target of their own. */
static void write_targets(FILE *out, const struct metrics *m)
{
	write_head(out, "migbatch_target_seconds", "gauge",
		   "Target, by what it bounds; 0 for none.");
	for (size_t i = 0; i < m->nr; i++) {
		const struct metrics_cgroup *c = &m->cgroups[i];

		if (!c->has_target)
			continue;
		write_cgroup(out, "migbatch_target_seconds", c);
		putc(',', out);
		write_label(out, "signal", target_signal_name(c->target.signal));
		fputs("} ", out);
		write_seconds(out, c->target.ns);
		putc('\n', out);
	}
	write_head(out, "migbatch_target_ratio", "gauge",
		   "Share that must stay below the target.");
	for (size_t i = 0; i < m->nr; i++) {
		const struct metrics_cgroup *c = &m->cgroups[i];

		if (!c->has_target)
			continue;
		write_cgroup(out, "migbatch_target_ratio", c);
		fprintf(out, "} %.5f\n", c->target.pct_milli / 100000.0);
	}
	write_head(out, "migbatch_target_aim_ratio", "gauge",
		   "What the policy aims at, as a share of the target.");
	for (size_t i = 0; i < m->nr; i++) {
		const struct metrics_cgroup *c = &m->cgroups[i];

		if (!c->has_target)
			continue;
		write_cgroup(out, "migbatch_target_aim_ratio", c);
		fprintf(out, "} %.3f\n", c->scale_milli / 1000.0);
	}
	write_head(out, "migbatch_target_missed", "gauge",
		   "1 while the target is missed by more than its share allows.");
	for (size_t i = 0; i < m->nr; i++) {
		const struct metrics_cgroup *c = &m->cgroups[i];

		if (!c->has_target)
			continue;
		write_cgroup(out, "migbatch_target_missed", c);
		fprintf(out, "} %d\n", c->missing);
	}
}

static void write_decisions(FILE *out, const struct metrics *m)
{
	static const char samples[] = "migbatch_policy_batches_total";
	static const char misses[] = "migbatch_policy_misses_total";

	write_head(out, samples, "counter", "Batches that the policy decided on.");
	for (size_t i = 0; i < m->nr; i++) {
		if (!m->cgroups[i].decided)
			continue;
		write_cgroup(out, samples, &m->cgroups[i]);
		write_number(out, "}", m->cgroups[i].samples);
	}
	write_head(out, misses, "counter", "Of these, the ones over the target.");
	for (size_t i = 0; i < m->nr; i++) {
		if (!m->cgroups[i].decided)
			continue;
		write_cgroup(out, misses, &m->cgroups[i]);
		write_number(out, "}", m->cgroups[i].misses);
	}
}

/* Fields of struct mb_counts, by where they are in it. */
#define FIELD(name) offsetof(struct mb_counts, name)

static uint64_t field_of(const struct mb_counts *c, size_t offset)
{
	return *(const uint64_t *)((const char *)c + offset);
}

struct count_family {
	const char *name;
	const char *help;
	size_t offset;
	bool pages;
	const char *engine;	/* a label, NULL for none */
	bool more;		/* goes on with the family before */
};

static void write_count(FILE *out, const struct metrics *m, const struct count_family *f)
{
	if (!f->more)
		write_head(out, f->name, "counter", f->help);
	for (size_t i = 0; i < m->nr; i++) {
		for (unsigned int r = 0; r < METRICS_REASONS; r++) {
			const struct mb_counts *c = &m->cgroups[i].figures.counts[r];
			uint64_t value = field_of(c, f->offset);

			if (!c->batches && !c->retries && !value)
				continue;
			write_cgroup(out, f->name, &m->cgroups[i]);
			putc(',', out);
			write_label(out, "reason", m->reason_name(r));
			if (f->engine) {
				putc(',', out);
				write_label(out, "engine", f->engine);
			}
			write_number(out, "}", f->pages ? value * m->page_size : value);
		}
	}
}

static void write_counts(FILE *out, const struct metrics *m)
{
	static const struct count_family families[] = {
		{ "migbatch_batches_total", "Batches, retries of single folios not among them.",
		  FIELD(batches), false, NULL, false },
		{ "migbatch_retries_total", "Batches that were retries of single folios.",
		  FIELD(retries), false, NULL, false },
		{ "migbatch_moved_bytes_total", "Bytes moved.", FIELD(moved_pages), true, NULL,
		  false },
		{ "migbatch_failed_bytes_total", "Bytes that could not be moved.",
		  FIELD(failed_pages), true, NULL, false },
		{ "migbatch_copied_bytes_total", "Bytes copied, by engine.", FIELD(dma_pages), true,
		  "dma", false },
		{ "migbatch_copied_bytes_total", NULL, FIELD(cpu_pages), true, "cpu", true },
		{ "migbatch_fallback_bytes_total",
		  "Bytes meant for an engine that the processor copied.", FIELD(fallback_pages),
		  true, NULL, false },
		{ "migbatch_copy_errors_total", "Descriptors that an engine failed.",
		  FIELD(errors), false, NULL, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(families); i++)
		write_count(out, m, &families[i]);
}

static void write_bucket_line(FILE *out, const char *name, const struct metrics_cgroup *c,
			      const char *more, int bit, uint64_t value)
{
	fprintf(out, "%s_bucket{", name);
	write_label(out, "cgroup", c->path);
	fputs(more, out);
	fputs(",le=\"", out);
	/* A slot ends just below a power of two, and a bucket holds its bound. */
	if (bit)
		write_seconds(out, (1ULL << bit) - 1);
	else
		fputs("+Inf", out);
	write_number(out, "\"}", value);
}

static void write_histogram(FILE *out, const char *name, const struct metrics_cgroup *c,
			    const char *more, const struct mb_hist *h, int step)
{
	uint64_t sum = 0;
	int slot = 0;

	if (!h->count)
		return;
	for (int bit = BUCKET_FIRST; bit <= BUCKET_LAST; bit += step) {
		for (; slot < bit; slot++)
			sum += h->slots[slot];
		write_bucket_line(out, name, c, more, bit, sum);
	}
	for (; slot < MB_HIST_SLOTS; slot++)
		sum += h->slots[slot];
	write_bucket_line(out, name, c, more, 0, sum);
	fprintf(out, "%s_sum{", name);
	write_label(out, "cgroup", c->path);
	fprintf(out, "%s} ", more);
	write_seconds(out, h->sum_ns);
	fprintf(out, "\n%s_count{", name);
	write_label(out, "cgroup", c->path);
	/* The same as the last bucket, also when it was read while being counted. */
	fprintf(out, "%s} %llu\n", more, (unsigned long long)sum);
}

static void write_histograms(FILE *out, const struct metrics *m)
{
	static const struct {
		const char *name;
		const char *help;
		unsigned int metric;
		const char *more;	/* labels */
		int step;		/* bits from bucket to bucket */
	} families[] = {
		{ "migbatch_first_folio_seconds", "First-folio delay of a batch.", MB_FIRST, "",
		  1 },
		{ "migbatch_blackout_seconds", "How long a folio was not mapped.", MB_BLACKOUT, "",
		  1 },
		{ "migbatch_wait_seconds", "A task's wait on a migration entry.", MB_WAIT, "", 1 },
		{ "migbatch_batch_seconds", "Whole batch.", MB_TOTAL, "", 1 },
		/* Three of one family; coarser, since they are looked at side by side. */
		{ "migbatch_phase_seconds", "Phases of a batch.", MB_UNMAP, ",phase=\"unmap\"",
		  2 },
		{ "migbatch_phase_seconds", NULL, MB_FLUSH, ",phase=\"flush\"", 2 },
		{ "migbatch_phase_seconds", NULL, MB_COPY, ",phase=\"copy\"", 2 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
		if (families[i].help)
			write_head(out, families[i].name, "histogram", families[i].help);
		for (size_t c = 0; c < m->nr; c++)
			write_histogram(out, families[i].name, &m->cgroups[c], families[i].more,
					&m->cgroups[c].figures.hist[families[i].metric],
					families[i].step);
	}
}

void metrics_write(FILE *out, const struct metrics *m)
{
	write_daemon(out, m);
	write_kernel(out, m);
	write_targets(out, m);
	write_decisions(out, m);
	write_counts(out, m);
	write_histograms(out, m);
}
