// SPDX-License-Identifier: GPL-2.0-or-later
/* What is exported: the format, true sums, names of any kind, the dashboard's names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "metrics.h"
#include "promcheck.h"
#include "util.h"

static const char *const modes[] = { "observe", "advise", "control", NULL };
static const char *const states[] = { "off", "attached", NULL };

static const struct metrics_counter kernel[] = {
	{ "batches", 7 }, { "pages_dma", 100 }, { "pages_cpu", 3 }, { "fallback_busy", 2 },
	{ "fallback_error", 0 }, { "clamped", 1 }, { "ejected", 0 },
};

static const char *reason(unsigned int r)
{
	static const char *const names[METRICS_REASONS] = {
		"compaction", "b", "c", "d", "e", "f", "g", "h", "i", "j", "other",
	};

	return names[r];
}

static void count(struct mb_hist *h, int slot, uint64_t n, uint64_t sum)
{
	h->slots[slot] += n;
	h->count += n;
	h->sum_ns += sum;
}

static void fill(struct metrics_cgroup *c, const char *path)
{
	*c = (struct metrics_cgroup){
		.path = path,
		.has_target = true,
		.target = { .ns = 300000, .pct_milli = 99900, .signal = MB_SIGNAL_BLACKOUT },
		.scale_milli = 500,
		.missing = true,
		.decided = true,
		.samples = 10,
		.misses = 3,
	};
	for (int i = 0; i < MB_NR_METRICS; i++) {
		count(&c->figures.hist[i], 3, 1, 9);		/* below the first bucket */
		count(&c->figures.hist[i], 17, 5, 1000000);	/* 131 to 262 us */
		count(&c->figures.hist[i], 35, 1, 40000000000);	/* above the last */
	}
	c->figures.counts[0] = (struct mb_counts){ .batches = 5, .moved_pages = 50,
						   .dma_pages = 40, .cpu_pages = 10 };
	c->figures.counts[10] = (struct mb_counts){ .batches = 1, .errors = 2 };
}

static struct metrics all(const struct metrics_cgroup *cgroups, size_t nr)
{
	return (struct metrics){
		.version = "1.0", .mode = "control", .policy_state = "attached", .observing = true,
		.nr_cgroups = 5, .nr_targets = 2, .nr_missing = 1, .max_series = 50,
		.nr_series = nr, .lost = 4, .kernel = kernel, .nr_kernel = ARRAY_SIZE(kernel),
		.modes = modes, .policy_states = states, .reason_name = reason,
		.cgroups = cgroups, .nr = nr, .page_size = 4096,
	};
}

static char *text_of(const struct metrics *m)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	metrics_write(out, m);
	fclose(out);
	return text;
}

static char *checked(const struct metrics *m)
{
	char *text = text_of(m), why[512];
	int line = prom_check(text, why, sizeof(why));

	if (line)
		fail_msg("line %d: %s", line, why);
	return text;
}

static void has_line(const char *text, const char *line)
{
	const char *at = strstr(text, line);
	size_t len = strlen(line);

	if (!at || (at != text && at[-1] != '\n') || at[len] != '\n')
		fail_msg("no line '%s' in:\n%s", line, text);
}

static void test_format(void **state)
{
	struct metrics_cgroup cgroups[2];
	struct metrics m = all(cgroups, 2), none = all(NULL, 0);
	_cleanup_free_ char *text = NULL, *empty = NULL;

	(void)state;
	fill(&cgroups[0], "/a");
	fill(&cgroups[1], METRICS_OTHER);
	cgroups[1].has_target = false;
	text = checked(&m);
	has_line(text, "migbatch_mode{mode=\"control\"} 1");
	has_line(text, "migbatch_mode{mode=\"observe\"} 0");
	has_line(text, "migbatch_policy_state{state=\"attached\"} 1");
	has_line(text, "migbatch_target_seconds{cgroup=\"/a\",signal=\"blackout\"} 0.000300000");
	has_line(text, "migbatch_target_ratio{cgroup=\"/a\"} 0.99900");
	has_line(text, "migbatch_target_aim_ratio{cgroup=\"/a\"} 0.500");
	has_line(text, "migbatch_target_missed{cgroup=\"/a\"} 1");
	has_line(text, "migbatch_policy_misses_total{cgroup=\"other\"} 3");
	has_line(text, "migbatch_moved_bytes_total{cgroup=\"/a\",reason=\"compaction\"} 204800");
	has_line(text, "migbatch_copied_bytes_total{cgroup=\"/a\",reason=\"compaction\","
		 "engine=\"dma\"} 163840");
	has_line(text, "migbatch_copy_errors_total{cgroup=\"/a\",reason=\"other\"} 2");
	has_line(text, "migbatch_kernel_copied_bytes_total{engine=\"dma\"} 409600");
	has_line(text, "migbatch_kernel_fallback_bytes_total{cause=\"busy\"} 8192");
	assert_null(strstr(text, "migbatch_target_missed{cgroup=\"other\"}"));

	empty = checked(&none);
	assert_null(strstr(empty, "cgroup=\""));
}

/* Sums are exact, and each bucket counts what is at most its bound. */
static void test_histograms_are_true(void **state)
{
	struct metrics_cgroup c;
	struct metrics m = all(&c, 1);
	_cleanup_free_ char *text = NULL;

	(void)state;
	fill(&c, "/a");
	text = checked(&m);
	has_line(text, "migbatch_first_folio_seconds_bucket{cgroup=\"/a\",le=\"0.000001023\"} 1");
	has_line(text, "migbatch_first_folio_seconds_bucket{cgroup=\"/a\",le=\"0.000131071\"} 1");
	has_line(text, "migbatch_first_folio_seconds_bucket{cgroup=\"/a\",le=\"0.000262143\"} 6");
	has_line(text, "migbatch_first_folio_seconds_bucket{cgroup=\"/a\",le=\"1.073741823\"} 6");
	has_line(text, "migbatch_first_folio_seconds_bucket{cgroup=\"/a\",le=\"+Inf\"} 7");
	has_line(text, "migbatch_first_folio_seconds_sum{cgroup=\"/a\"} 40.001000009");
	has_line(text, "migbatch_first_folio_seconds_count{cgroup=\"/a\"} 7");
	has_line(text, "migbatch_phase_seconds_count{cgroup=\"/a\",phase=\"flush\"} 7");
}

static void test_any_name(void **state)
{
	static const char *const names[] = {
		"/quote\"d", "/back\\slash", "/new\nline", "/\xc3\xa4", "/\xff\xfe bytes", "/a{b}",
		"/\xe2\x82", "/le=\"1\"",
	};
	struct metrics_cgroup cgroups[ARRAY_SIZE(names)];
	struct metrics m = all(cgroups, ARRAY_SIZE(names));
	_cleanup_free_ char *text = NULL;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		fill(&cgroups[i], names[i]);
	text = checked(&m);
	has_line(text, "migbatch_target_missed{cgroup=\"/quote\\\"d\"} 1");
	has_line(text, "migbatch_target_missed{cgroup=\"/back\\\\slash\"} 1");
	has_line(text, "migbatch_target_missed{cgroup=\"/new\\nline\"} 1");
	has_line(text, "migbatch_target_missed{cgroup=\"/\xc3\xa4\"} 1");
	has_line(text, "migbatch_target_missed{cgroup=\"/?? bytes\"} 1");
}

static void test_figures_add_up(void **state)
{
	struct metrics_cgroup a, b;

	(void)state;
	fill(&a, "/a");
	fill(&b, "/b");
	figures_add(&a.figures, &b.figures);
	assert_int_equal(a.figures.hist[MB_WAIT].count, 14);
	assert_int_equal(a.figures.hist[MB_WAIT].sum_ns, 2 * 40001000009);
	assert_int_equal(a.figures.counts[0].dma_pages, 80);
	/* a reason that this version does not know */
	figures_add_counts(&a.figures, 1000, &b.figures.counts[0]);
	assert_int_equal(a.figures.counts[METRICS_REASONS - 1].batches, 1 + 1 + 5);
}

/* A cgroup's series are bounded, whatever it did. */
static void test_cardinality(void **state)
{
	struct metrics_cgroup cgroups[3];
	struct metrics m = all(cgroups, 2), more = all(cgroups, 3);
	_cleanup_free_ char *two = NULL, *three = NULL;
	size_t each;

	(void)state;
	for (int i = 0; i < 3; i++) {
		static const char *const names[] = { "/a", "/b", "/c" };

		fill(&cgroups[i], names[i]);
		for (int r = 0; r < METRICS_REASONS; r++)
			cgroups[i].figures.counts[r].batches = 1;
	}
	two = checked(&m);
	three = checked(&more);
	each = prom_samples(three) - prom_samples(two);
	assert_in_range(each, 100, 250);
}

/* The checker finds what it is there for. */
static void test_checker(void **state)
{
	static const char head[] = "# HELP a_total x\n# TYPE a_total counter\n";
	static const char hist[] = "# HELP h x\n# TYPE h histogram\n";
	static const struct {
		const char *head;
		const char *text;
	} wrong[] = {
		{ "", "" },
		{ head, "a_total 1" },
		{ head, "\n" },
		{ head, "a_total\n" },
		{ head, "a_total x\n" },
		{ head, "a_total -1\n" },
		{ head, "b_total 1\n" },
		{ head, "a_total{x=\"1\" y=\"2\"} 1\n" },
		{ head, "a_total{x=\"1\",x=\"2\"} 1\n" },
		{ head, "a_total{x=\"\\t\"} 1\n" },
		{ head, "a_total{1x=\"\"} 1\n" },
		{ head, "a_total{x=\"1\"} 1\na_total{x=\"1\"} 2\n" },
		{ head, "a_total{x=\"\xff\"} 1\n" },
		{ head, "a_total 1\n# HELP a_total x\n" },
		{ "", "a_total 1\n" },
		{ "", "# TYPE a_total counter\n" },
		{ "", "# HELP a x\n# TYPE a counter\na 1\n" },
		{ "", "# HELP a_total x\n# TYPE a_total gauge\n" },
		{ hist, "h_bucket{le=\"1\"} 1\nh_sum 1\nh_count 1\n" },
		{ hist, "h_bucket{le=\"+Inf\"} 1\nh_count 1\n" },
		{ hist, "h_bucket{le=\"+Inf\"} 1\nh_sum 1\nh_count 2\n" },
		{ hist, "h_bucket{le=\"1\"} 2\nh_bucket{le=\"+Inf\"} 1\nh_sum 1\nh_count 1\n" },
		{ hist, "h_bucket{le=\"2\"} 1\nh_bucket{le=\"1\"} 1\n" },
		{ hist, "h_bucket 1\n" },
		{ hist, "h 1\n" },
	};
	char why[512];

	(void)state;
	assert_int_equal(prom_check("# HELP a_total x\n# TYPE a_total counter\na_total 1\n", why,
				    sizeof(why)), 0);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		_cleanup_free_ char *text = str_printf("%s%s", wrong[i].head, wrong[i].text);

		if (!prom_check(text, why, sizeof(why)))
			fail_msg("taken for right: %s", text);
	}
}

/* Whether @name, with what histograms add to theirs, is that of a family in @text. */
static bool exported(const char *text, const char *name)
{
	static const char *const ends[] = { "", "_bucket", "_sum", "_count" };
	size_t len = strlen(name);

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		size_t end = strlen(ends[i]);
		_cleanup_free_ char *line = NULL;

		if (len < end || strcmp(name + len - end, ends[i]))
			continue;
		line = str_printf("\n# TYPE %.*s %s", (int)(len - end), name, i ? "histogram" : "");
		if (line && strstr(text, line))
			return true;
	}
	return false;
}

/* The dashboard asks for nothing that is not exported. */
static void test_dashboard(void **state)
{
	struct metrics_cgroup c;
	struct metrics m = all(&c, 1);
	_cleanup_free_ char *text = NULL, *dashboard = NULL;
	int nr = 0;

	(void)state;
	fill(&c, "/a");
	text = checked(&m);
	assert_int_equal(file_read(DASHBOARD, &dashboard), 0);
	for (const char *p = dashboard; (p = strstr(p, "migbatch_")); nr++) {
		char name[128];
		size_t len = strspn(p, "abcdefghijklmnopqrstuvwxyz_");

		snprintf(name, sizeof(name), "%.*s", (int)len, p);
		if (!exported(text, name))
			fail_msg("'%s' is not exported", name);
		p += len;
	}
	assert_true(nr > 10);
	assert_false(exported(text, "migbatch_first_folio"));
	assert_false(exported(text, "migbatch_mode_bucket"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_format),
		cmocka_unit_test(test_histograms_are_true),
		cmocka_unit_test(test_any_name),
		cmocka_unit_test(test_figures_add_up),
		cmocka_unit_test(test_cardinality),
		cmocka_unit_test(test_checker),
		cmocka_unit_test(test_dashboard),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
