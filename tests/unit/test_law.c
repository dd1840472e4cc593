// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The control law against simulated engines: the published tables of batch cap against first-folio
 * delay, steps, noise, outliers and nonsense.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <linux/types.h>
#include <migbatch/abi.h>
#include <migbatch/law.h>

#define ROWS 10
#define ROW_PAGES(row) (512U << (row))

/* Batch cap 512 << row: first-folio delay in us, and GB/s in 1/100. Zen 3, PTDMA. */
struct column {
	const char *name;
	uint32_t order;
	uint32_t channels;
	uint32_t us[ROWS];
	uint32_t rate[ROWS];
};

static const struct column columns[] = {
	{ "4K, 1 channel", 0, 1,
	  { 639, 1261, 2769, 5059, 9320, 18689, 42692, 81956, 169563, 318424 },
	  { 213, 217, 201, 210, 221, 215, 212, 209, 202, 221 } },
	{ "4K, 4 channels", 0, 4,
	  { 290, 582, 1360, 2737, 5015, 9623, 18893, 38556, 81082, 170174 },
	  { 323, 344, 309, 313, 317, 331, 338, 338, 322, 312 } },
	{ "4K, 16 channels", 0, 16,
	  { 253, 536, 1083, 2115, 3617, 6937, 14255, 29003, 62236, 129413 },
	  { 327, 358, 345, 358, 375, 387, 383, 364, 363, 350 } },
	{ "2M, 1 channel", 9, 1,
	  { 160, 310, 613, 1215, 2424, 4839, 9667, 19318, 38935, 77694 },
	  { 1166, 1216, 1230, 1248, 1256, 1261, 1260, 1263, 1264, 1266 } },
	{ "2M, 4 channels", 9, 4,
	  { 160, 275, 290, 566, 1118, 2218, 4422, 8838, 17935, 35871 },
	  { 1168, 1367, 2547, 2619, 2657, 2677, 2698, 2699, 2702, 2685 } },
	{ "2M, 16 channels", 9, 16,
	  { 160, 276, 291, 335, 470, 896, 1748, 3543, 7178, 14129 },
	  { 1165, 1364, 2548, 4259, 5872, 6194, 6375, 6066, 6106, 6506 } },
};

/* CPU copy of table A in GB/s in 1/100. */
#define CPU_RATE_4K 331
#define CPU_RATE_2M 1102

/* What the first folio waits for whatever the batch: flush, its own restore. */
#define FIXED_NS 8000

struct sim {
	const struct column *column;
	struct mb_model model;
	struct mb_want want;
	struct mb_choice choice;
	uint64_t now_ns;
	uint64_t delay_ns;	/* of the last batch */
	uint32_t pages;
	uint32_t dma_slowdown;	/* in 1/1000 */
	uint32_t noise;		/* in 1/1000, either way */
	uint32_t random;
};

static uint32_t next_random(struct sim *s)
{
	s->random = s->random * 1664525 + 1013904223;
	return s->random >> 8;
}

static uint64_t between(uint64_t a, uint64_t b, uint32_t at, uint32_t of)
{
	return a + ((int64_t)b - (int64_t)a) * at / of;
}

/* Below the table 4K batches shrink in proportion down to 24 us, 2M ones cannot. */
static uint64_t table_delay(const struct column *c, uint32_t pages)
{
	uint32_t row = 0;

	if (pages <= 512)
		return between(24000, c->us[0] * 1000ULL, pages, 512);
	while (row < ROWS - 2 && pages > ROW_PAGES(row + 1))
		row++;
	return between(c->us[row] * 1000ULL, c->us[row + 1] * 1000ULL, pages - ROW_PAGES(row),
		       ROW_PAGES(row));
}

static uint64_t table_ns_per_page(const struct column *c, uint32_t pages)
{
	uint32_t row = 0;

	while (row < ROWS - 1 && pages > ROW_PAGES(row))
		row++;
	return 409600 / c->rate[row];
}

/* 220 ns to unmap a page and 40 us for a folio of 2M; the copy is one folio's. */
static uint64_t cpu_delay(const struct column *c, uint32_t pages)
{
	return c->order ? 190000 : 20000 + pages * 220ULL;
}

static uint64_t cpu_ns_per_page(const struct column *c)
{
	return 409600 / (c->order ? CPU_RATE_2M : CPU_RATE_4K);
}

static void sim_batch(struct sim *s)
{
	const struct column *c = s->column;
	uint32_t folio = 1U << c->order;
	struct mb_sample sample = { 0 };
	uint64_t delay, total;
	bool dma;

	mb_choose(&s->model, &s->want, &s->choice);
	s->want.turn++;
	assert_true(s->choice.batch_pages > 0);
	dma = s->choice.nr_channels;

	s->pages = (s->choice.batch_pages + folio - 1) / folio * folio;
	if (s->pages > s->want.nr_pages)
		s->pages = s->want.nr_pages;
	if (dma) {
		delay = table_delay(c, s->pages) * s->dma_slowdown / 1000;
		total = table_ns_per_page(c, s->pages) * s->pages * s->dma_slowdown / 1000;
	} else {
		delay = cpu_delay(c, s->pages);
		total = cpu_ns_per_page(c) * s->pages;
	}
	if (s->noise)
		delay = delay * (1000 - s->noise + next_random(s) % (2 * s->noise + 1)) / 1000;
	s->delay_ns = delay;

	sample.first_ns = delay;
	sample.growing_ns = delay - (delay < FIXED_NS ? delay : FIXED_NS);
	sample.total_ns = total > delay ? total : delay;
	sample.nr_moved = s->pages;
	s->now_ns += sample.total_ns;
	mb_learn(&s->model.engine[dma ? MB_DMA : MB_CPU], &sample);
}

static struct sim *sim_new(const struct column *c, uint64_t target_ns)
{
	struct sim *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	s->column = c;
	s->dma_slowdown = 1000;
	s->random = 1;
	s->want = (struct mb_want){
		.target_ns = target_ns,
		.nr_folios = 262144 >> c->order,
		.nr_pages = 262144,
		.max_order = c->order,
		.nr_channels = c->channels,
		.max_pages = 262144,
	};
	return s;
}

static void sim_run(struct sim *s, unsigned int batches)
{
	while (batches--)
		sim_batch(s);
}

static const uint64_t targets[] = {
	200000, 300000, 500000, 700000, 1000000, 2000000, 3000000, 5000000, 7000000, 10000000,
	20000000, 30000000, 50000000, 100000000, 500000000,
};

#define NR(array) (sizeof(array) / sizeof((array)[0]))

/*
 * Largest batch of the table that meets the target. Below the table: one folio, or the power of
 * two that the line down to a single page allows.
 */
static uint32_t best_row(const struct column *c, uint64_t target)
{
	uint32_t best = c->order ? 1U << c->order : 256;
	unsigned int row;

	while (!c->order && best > 1 && table_delay(c, best) >= target)
		best /= 2;
	for (row = 0; row < ROWS; row++)
		if (c->us[row] * 1000ULL < target)
			best = ROW_PAGES(row);
	return best;
}

/* Only DMA is of interest here: the CPU has had its trial and is late. */
static void dma_only(struct sim *s)
{
	struct mb_engine *cpu = &s->model.engine[MB_CPU];

	cpu->samples = MB_TRIAL_FIRST;
	cpu->top_pages = 512;
	cpu->rungs[9] = (struct mb_rung){
		.fixed.prev = UINT32_MAX,
		.whole = UINT32_MAX - 1,
		.samples = 1,
	};
	/* Right after a trial, the next one is far. */
	s->want.turn = MB_TRIAL_AGAIN;
}

static void check_target(const struct column *c, uint64_t target)
{
	struct sim *s = sim_new(c, target);
	uint32_t best = best_row(c, target);
	unsigned int i;

	dma_only(s);
	for (i = 0; i < 40; i++) {
		sim_batch(s);
		assert_int_equal(s->choice.nr_channels, c->channels);
		/* Never late, unless one folio by itself is. */
		if (s->pages > 1U << c->order && s->delay_ns > target)
			fail_msg("%s, target %llu us: %u pages took %llu us in batch %u", c->name,
				 (unsigned long long)target / 1000, s->pages,
				 (unsigned long long)s->delay_ns / 1000, i);
		/*
		 * 32 pages doubled 13 times are 262144. Where the table is flat a smaller batch is
		 * right: nothing promises that twice as many pages take less than twice as long.
		 */
		if (i >= 14 && (s->pages > best * 2 ||
				(s->pages < best / 2 && s->delay_ns * 2 <= target)))
			fail_msg("%s, target %llu us: %u pages in batch %u, best row has %u",
				 c->name, (unsigned long long)target / 1000, s->pages, i, best);
	}
	free(s);
}

static void test_tables(void **state)
{
	unsigned int c, t;

	(void)state;
	for (c = 0; c < NR(columns); c++)
		for (t = 0; t < NR(targets); t++)
			check_target(&columns[c], targets[t]);
}

/* Where it must end up: at the engine that published figures call the faster one. */
static void check_engine(unsigned int column, bool dma)
{
	const struct column *c = &columns[column];
	struct sim *s = sim_new(c, 2000000);
	unsigned int i, wrong = 0, cpu_pages = 0;

	for (i = 0; i < 16; i++) {
		sim_batch(s);
		if (!s->choice.nr_channels)
			cpu_pages += s->pages;
	}
	assert_true(cpu_pages <= MB_TRIAL_FIRST * 512);
	for (i = 0; i < MB_TRIAL_PERIOD; i++) {
		sim_batch(s);
		wrong += !!s->choice.nr_channels != dma;
		assert_true(s->delay_ns <= s->want.target_ns);
	}
	/* The regular trials, and those of a size that is new to the slower engine. */
	if (wrong > MB_TRIAL_AGAIN + MB_TRIAL_RUNG)
		fail_msg("%s: the slower engine in %u batches", c->name, wrong);
	free(s);
}

static void test_engine(void **state)
{
	(void)state;
	check_engine(0, false);
	check_engine(1, false);
	check_engine(2, true);
	check_engine(3, true);
	check_engine(4, true);
	check_engine(5, true);
}

/* One cold batch of the better engine at the size of the target is not held against it. */
static void test_engine_cold(void **state)
{
	struct sim *s = sim_new(&columns[5], 100000000);
	struct mb_engine *dma = &s->model.engine[MB_DMA];
	unsigned int i, cpu = 0;

	(void)state;
	sim_run(s, 100);
	/* Its only batch of 512 pages took twice as long as the CPU's. */
	memset(&dma->rungs[9], 0, sizeof(dma->rungs[9]));
	dma->rungs[9].samples = 1;
	dma->rungs[9].whole = 2 * s->model.engine[MB_CPU].rungs[9].whole;
	dma->rungs[9].page.top = 200 << 8;
	dma->rungs[9].last = dma->samples;
	s->want.target_ns = 300000;
	for (i = 0; i < 100; i++) {
		sim_batch(s);
		cpu += !s->choice.nr_channels;
	}
	assert_in_range(cpu, 0, 10);
	free(s);
}

/* An engine that is late with a single folio is no choice while the other one is not. */
static void test_engine_late(void **state)
{
	struct sim *s = sim_new(&columns[5], 200000);
	unsigned int i;

	(void)state;
	for (i = 0; i < 3000; i++) {
		sim_batch(s);
		assert_int_equal(s->choice.nr_channels, 16);
	}
	/* Neither is in time: the one that is less so. */
	s->want.target_ns = 100000;
	for (i = 0; i < 100; i++)
		sim_batch(s);
	assert_int_equal(s->choice.limit, MB_LIMIT_ONE_FOLIO);
	assert_int_equal(s->choice.nr_channels, 16);
	free(s);
}

static void test_no_channels(void **state)
{
	struct sim *s = sim_new(&columns[0], 100000);

	(void)state;
	s->want.nr_channels = 0;
	sim_run(s, 100);
	assert_int_equal(s->choice.nr_channels, 0);
	assert_in_range(s->delay_ns, 50000, 100000);
	s->want.target_ns = 100000000;
	sim_run(s, 100);
	assert_int_equal(s->choice.batch_pages, 512);
	assert_int_equal(s->choice.limit, MB_LIMIT_MAX_PAGES);
	free(s);
}

/* The first batch for a cgroup whose target is new is within it, as far as costs are known. */
static void test_target_step(void **state)
{
	unsigned int c, i;

	(void)state;
	for (c = 0; c < NR(columns); c++) {
		struct sim *s = sim_new(&columns[c], 50000000);

		dma_only(s);
		sim_run(s, 30);
		for (i = NR(targets); i--;) {
			s->want.target_ns = targets[i];
			sim_batch(s);
			if (s->pages > 1U << columns[c].order)
				assert_true(s->delay_ns <= targets[i]);
		}
		/* And back up at once: all of it is known. */
		s->want.target_ns = 50000000;
		sim_batch(s);
		assert_true(s->pages >= best_row(&columns[c], 50000000) / 2);
		free(s);
	}
}

/*
 * The engine becomes four times slower: two batches are late, the second of which confirms the
 * first; or three, when a window ends between them.
 */
static void test_cost_step(void **state)
{
	unsigned int c, i, late;

	(void)state;
	for (c = 0; c < NR(columns); c++) {
		struct sim *s = sim_new(&columns[c], 5000000);

		dma_only(s);
		sim_run(s, 300);
		s->dma_slowdown = 4000;
		for (i = 0, late = 0; i < 300; i++) {
			sim_batch(s);
			late += s->delay_ns > s->want.target_ns;
		}
		if (late > 3)
			fail_msg("%s: %u batches late", columns[c].name, late);
		/* And back: the whole gain within a minute. */
		s->dma_slowdown = 1000;
		for (i = 0; s->now_ns < 60000000000ULL && i < 100000; i++) {
			sim_batch(s);
			assert_true(s->delay_ns <= s->want.target_ns);
		}
		if (s->pages < best_row(&columns[c], 5000000) / 2)
			fail_msg("%s: still at %u pages after %u batches", columns[c].name,
				 s->pages, i);
		free(s);
	}
}

static void test_noise(void **state)
{
	unsigned int c, i, late, smallest, largest;

	(void)state;
	for (c = 0; c < NR(columns); c++) {
		struct sim *s = sim_new(&columns[c], 3000000);

		dma_only(s);
		s->noise = 100;
		sim_run(s, 40);
		late = 0;
		smallest = UINT32_MAX;
		largest = 0;
		for (i = 0; i < 1000; i++) {
			sim_batch(s);
			late += s->delay_ns > s->want.target_ns;
			smallest = s->pages < smallest ? s->pages : smallest;
			largest = s->pages > largest ? s->pages : largest;
		}
		if (late > 10 || largest > 2 * smallest)
			fail_msg("%s: %u late, %u to %u pages", columns[c].name, late, smallest,
				 largest);
		free(s);
	}
}

/* Without noise it settles on one value and stays: no limit cycle. */
static void test_no_limit_cycle(void **state)
{
	unsigned int c, t, i;

	(void)state;
	for (c = 0; c < NR(columns); c++) {
		for (t = 0; t < NR(targets); t++) {
			struct sim *s = sim_new(&columns[c], targets[t]);
			uint32_t pages;

			dma_only(s);
			sim_run(s, 200);
			pages = s->pages;
			for (i = 0; i < 1000; i++) {
				sim_batch(s);
				if (s->pages < pages - pages / 8 || s->pages > pages + pages / 8)
					fail_msg("%s, target %llu us: %u pages, then %u",
						 columns[c].name,
						 (unsigned long long)targets[t] / 1000, pages,
						 s->pages);
			}
			free(s);
		}
	}
}

static void feed(struct sim *s, uint32_t pages, uint64_t first_ns)
{
	struct mb_sample sample = {
		.first_ns = first_ns,
		.growing_ns = first_ns - first_ns / 8,
		.total_ns = first_ns,
		.nr_moved = pages,
	};

	mb_learn(&s->model.engine[MB_DMA], &sample);
}

/* One batch that was held up moves nothing; neither does a held-up rest of one page. */
static void test_outlier(void **state)
{
	struct sim *s = sim_new(&columns[5], 2000000);
	uint32_t pages;

	(void)state;
	dma_only(s);
	sim_run(s, 100);
	pages = s->pages;
	feed(s, pages, 50000000);
	sim_batch(s);
	assert_int_equal(s->pages, pages);
	free(s);

	s = sim_new(&columns[2], 2000000);
	dma_only(s);
	sim_run(s, 100);
	pages = s->pages;
	feed(s, 1, 5000000);
	sim_batch(s);
	assert_in_range(s->pages, pages - pages / 8, pages + pages / 8);
	/* Nor several of them, when larger batches were in time: it is not their size then. */
	feed(s, 1, 5000000);
	feed(s, 1, 5000000);
	feed(s, 2, 5000000);
	feed(s, 2, 5000000);
	sim_batch(s);
	assert_in_range(s->pages, pages - pages / 8, pages + pages / 8);
	free(s);
}

/*
 * One batch in 500 is held up whatever its size: no reason to make all of them small. Two in one
 * window cost half the size until that is forgotten.
 */
static void test_heavy_tail(void **state)
{
	unsigned int c, i, late;
	uint64_t pages;

	(void)state;
	for (c = 0; c < NR(columns); c++) {
		struct sim *s = sim_new(&columns[c], 3000000);

		dma_only(s);
		s->noise = 50;
		sim_run(s, 100);
		for (i = 0, late = 0, pages = 0; i < 4000; i++) {
			sim_batch(s);
			late += s->delay_ns > s->want.target_ns;
			pages += s->pages;
			if (next_random(s) % 500 == 0)
				feed(s, s->pages, s->delay_ns + 10000000);
		}
		if (late > 40 || pages / i < best_row(&columns[c], 3000000) / 2)
			fail_msg("%s: %u of %u late, %llu pages on average", columns[c].name, late,
				 i, (unsigned long long)pages / i);
		free(s);
	}
}

/* A batch cut short by the end of the list teaches nothing about larger ones. */
static void test_short_batches(void **state)
{
	struct sim *s = sim_new(&columns[2], 3000000);
	uint32_t pages;

	(void)state;
	dma_only(s);
	sim_run(s, 100);
	pages = s->choice.batch_pages;
	s->want.nr_pages = s->want.nr_folios = 3;
	sim_run(s, 100);
	assert_int_equal(s->choice.limit, MB_LIMIT_NONE);
	s->want.nr_pages = s->want.nr_folios = 262144;
	sim_batch(s);
	assert_in_range(s->choice.batch_pages, pages - pages / 8, pages + pages / 8);
	free(s);
}

static void test_failures_ignored(void **state)
{
	struct mb_engine e = { 0 };
	struct mb_sample s = { .first_ns = 1000, .total_ns = 1000 };

	(void)state;
	assert_false(mb_learn(&e, &s));
	s.nr_moved = 100;
	s.nr_failed = 50;
	assert_false(mb_learn(&e, &s));
	s.nr_failed = 25;
	assert_true(mb_learn(&e, &s));
	s.first_ns = 0;
	assert_false(mb_learn(&e, &s));
	assert_int_equal(e.samples, 1);
}

static void test_limits(void **state)
{
	struct sim *s = sim_new(&columns[5], 100000);

	(void)state;
	dma_only(s);
	/* The first batch of all: nothing known, and one folio more than the target allows. */
	mb_choose(&s->model, &s->want, &s->choice);
	assert_int_equal(s->choice.batch_pages, 512);
	assert_int_equal(s->choice.limit, MB_LIMIT_ONE_FOLIO);
	sim_run(s, 20);
	assert_int_equal(s->choice.batch_pages, 512);
	assert_int_equal(s->choice.limit, MB_LIMIT_ONE_FOLIO);

	s->want.target_ns = 1000000;
	mb_choose(&s->model, &s->want, &s->choice);
	assert_int_equal(s->choice.limit, MB_LIMIT_UNKNOWN);
	sim_run(s, 20);
	assert_int_equal(s->choice.limit, MB_LIMIT_TARGET);
	assert_true(s->choice.predicted_ns <= 875000);
	s->want.max_pages = 2048;
	sim_batch(s);
	assert_int_equal(s->choice.batch_pages, 2048);
	assert_int_equal(s->choice.limit, MB_LIMIT_MAX_PAGES);

	/* No bound: the kernel's own size. */
	s->want.max_pages = 16384;
	s->want.target_ns = 0;
	sim_batch(s);
	assert_int_equal(s->choice.batch_pages, 512);
	free(s);
}

static void test_first_batch(void **state)
{
	struct sim *s = sim_new(&columns[0], 1000000);

	(void)state;
	mb_choose(&s->model, &s->want, &s->choice);
	assert_int_equal(s->choice.batch_pages, MB_START_PAGES);
	assert_int_equal(s->choice.limit, MB_LIMIT_UNKNOWN);
	s->want.target_ns = 40000;
	mb_choose(&s->model, &s->want, &s->choice);
	assert_int_equal(s->choice.batch_pages, 8);
	free(s);
}

/* A batch ends with the folio that crosses its limit, the largest one at worst. */
static void test_mixed_orders(void **state)
{
	struct mb_want w = { .nr_folios = 10, .nr_pages = 160, .max_order = 4 };

	(void)state;
	assert_int_equal(mb_whole_folios(100, &w), 96);
	assert_int_equal(mb_whole_folios(5, &w), 16);
	w.nr_pages = 100;
	assert_int_equal(mb_whole_folios(100, &w), 85);
	assert_int_equal(mb_whole_folios(15, &w), 1);
	assert_int_equal(mb_whole_folios(16, &w), 1);
}

static void test_scale(void **state)
{
	struct mb_want w = { .target_ns = 800000 };

	(void)state;
	assert_int_equal(mb_budget(&w), 700000);
	w.scale_milli = 500;
	assert_int_equal(mb_budget(&w), 350000);
	w.scale_milli = 1;
	assert_int_equal(mb_budget(&w), 70000);
	w.scale_milli = UINT32_MAX;
	assert_int_equal(mb_budget(&w), 1400000);
}

static void test_log2_up(void **state)
{
	unsigned int i;

	(void)state;
	assert_int_equal(mb_log2_up(0), 0);
	assert_int_equal(mb_log2_up(1), 0);
	for (i = 1; i < 32; i++) {
		assert_int_equal(mb_log2_up(1U << i), i);
		if (i < 31)
			assert_int_equal(mb_log2_up((1U << i) + 1), i + 1);
	}
	assert_int_equal(mb_log2_up(UINT32_MAX), 32);
	assert_int_equal(mb_channels_class(0), 0);
	assert_int_equal(mb_channels_class(12), 16);
	assert_int_equal(mb_channels_class(UINT32_MAX), 1U << 16);
}

static const uint64_t extremes[] = {
	0, 1, 2, 511, 512, 513, 1000, 262144, 262145, INT32_MAX, UINT32_MAX, 1ULL << 32, 1ULL << 40,
	INT64_MAX, UINT64_MAX,
};

/* Whatever goes in, what comes out is a batch. */
static void test_extremes(void **state)
{
	struct sim *s = sim_new(&columns[0], 0);
	struct mb_sample sample;
	unsigned int i;

	(void)state;
	for (i = 0; i < 200000; i++) {
		uint64_t any[9];
		unsigned int j;

		for (j = 0; j < NR(any); j++)
			any[j] = extremes[next_random(s) % NR(extremes)];
		s->want = (struct mb_want){ any[1], any[2], any[3], any[4], any[5] % 64, any[6],
					    any[7], any[8] };
		mb_choose(&s->model, &s->want, &s->choice);
		assert_in_range(s->choice.batch_pages, 1, 262144);
		if (s->want.max_pages && s->want.max_order == 0)
			assert_true(s->choice.batch_pages <= s->want.max_pages);
		assert_true(s->choice.nr_channels == 0 ||
			    s->choice.nr_channels == s->want.nr_channels);
		sample = (struct mb_sample){ any[0], any[1], any[2], any[3] >> 1, any[4] };
		mb_learn(&s->model.engine[i % 2], &sample);
	}
	free(s);
}

static void test_layout(void **state)
{
	(void)state;
	assert_int_equal(sizeof(struct mb_rung), 36);
	assert_int_equal(sizeof(struct mb_engine), MB_RUNGS * 36 + 8);
	assert_int_equal(sizeof(struct mb_model), 8 + 2 * sizeof(struct mb_engine));
	assert_int_equal(sizeof(struct mb_hist), (MB_HIST_SLOTS + 3) * 8);
	assert_int_equal(sizeof(struct mb_decision), 72);
	assert_int_equal(sizeof(struct mb_exit), 88);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_layout),
		cmocka_unit_test(test_log2_up),
		cmocka_unit_test(test_scale),
		cmocka_unit_test(test_mixed_orders),
		cmocka_unit_test(test_first_batch),
		cmocka_unit_test(test_tables),
		cmocka_unit_test(test_engine),
		cmocka_unit_test(test_engine_cold),
		cmocka_unit_test(test_engine_late),
		cmocka_unit_test(test_no_channels),
		cmocka_unit_test(test_target_step),
		cmocka_unit_test(test_cost_step),
		cmocka_unit_test(test_noise),
		cmocka_unit_test(test_no_limit_cycle),
		cmocka_unit_test(test_outlier),
		cmocka_unit_test(test_heavy_tail),
		cmocka_unit_test(test_short_batches),
		cmocka_unit_test(test_failures_ignored),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_extremes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
