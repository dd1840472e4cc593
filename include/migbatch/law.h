/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The control law: how large the next batch may be and which engine copies it, so that the
 * first-folio delay stays below a target. Pure integer C without state of its own, shared by the
 * BPF policy and user space. Include <migbatch/abi.h> before.
 *
 * The model. A batch is unmapped and copied as a whole before its first folio is mapped back, so
 *
 *	delay = fixed + pages * cost per page
 *
 * where the cost per page falls with the size of the batch as long as a larger batch can use more
 * channels. Hence one pair of costs for each power of two (a rung), for each engine, and a model
 * of its own for each direction, folio order and number of channels. Costs are upper envelopes:
 * the second largest value of one or two windows, so that one outlier, say an interrupt storm,
 * moves nothing and the second one does; nor does it count what smaller batches seem to cost when
 * larger ones did not at the time.
 *
 * The law. Climb the known rungs as long as a whole rung fits into the target less a margin. What
 * is unknown is small: the first batch ever has MB_START_PAGES at most, and no batch is more than
 * twice as large as any seen before, at the cost per page of the rung below. A rung that did not
 * fit is tried again after MB_FORGET batches, and only when the rung below says that it should
 * fit. When costs rise on one rung, the rungs below are taken to have risen too.
 *
 * The engine. The one that can keep the target; of two that can, the one with the lower time per
 * page at the size that its delay allows. Both are measured at first, and the one that lost now and
 * then.
 */
#ifndef MIGBATCH_LAW_H
#define MIGBATCH_LAW_H

/*
 * Assumed while nothing is known: the worst of the published figures (4K folios, one DMA channel)
 * has 1.24 us a page, and one 4K folio by itself takes 24 us.
 */
#define MB_PRIOR_FIXED_NS	24000
#define MB_PRIOR_PAGE		(1240 * 256)

/* Even where the prior allows more: it may be wrong for this machine. */
#define MB_START_PAGES		32

/* Part of the target left free: repetitions of published runs differ by 10 %. */
#define MB_MARGIN_SHIFT		3

/* The second largest of so many is about the 99th percentile, the usual target. */
#define MB_WINDOW_SAMPLES	128

/*
 * What a rung saw so many batches ago is in doubt: one above the target is tried again, at the
 * price of one miss, and one sample outweighs it. Batches seen within as many of each other were
 * done in the same circumstances.
 */
#define MB_FORGET		256

/* Trials: how many batches at first, and how many out of how many later. */
#define MB_TRIAL_FIRST		8
/* Batches on a rung before its time a page is compared: the first one alone may have been cold. */
#define MB_TRIAL_RUNG		4
#define MB_TRIAL_AGAIN		4
#define MB_TRIAL_PERIOD		2048

/*
 * The kernel's own size of a batch, which it has without a bound. The CPU is never given more: it
 * copies folio by folio, so all that a larger batch saves is a flush in 150 us of work.
 */
#define MB_DEFAULT_PAGES	512

/* Times beyond 18 minutes are nonsense, and the arithmetic below is safe up to here. */
#define MB_TIME_MAX		(1ULL << 40)

/* What a batch needs to be chosen. */
struct mb_want {
	__u64 target_ns;	/* effective target, 0: no bound */
	__u32 scale_milli;	/* slow loop's correction; 0: none */
	__u32 nr_folios;	/* that wait */
	__u32 nr_pages;
	__u32 max_order;
	__u32 nr_channels;
	__u32 max_pages;	/* ceiling, 0: none */
	__u32 turn;		/* number of the batch in its model */
};

struct mb_choice {
	__u64 predicted_ns;	/* delay; 0 when nothing is known */
	__u32 batch_pages;
	__u32 nr_channels;
	__u32 limit;		/* enum mb_limit */
};

/* What a batch was. */
struct mb_sample {
	__u64 first_ns;
	__u64 growing_ns;	/* the part of first_ns that grows with the batch: unmap and copy */
	__u64 total_ns;
	__u32 nr_moved;		/* pages */
	__u32 nr_failed;
};

/*
 * The kernel's verifier tries all combinations of branches, unless a function is global: that one
 * it looks at once, by itself. The same goes for the rounds of a loop and bpf_for().
 */
#ifdef __bpf__
#define MB_LAW __attribute__((noinline))
#define MB_ARG __attribute__((btf_decl_tag("arg:nonnull")))
#define mb_for_each_rung(i) bpf_for(i, 0, MB_RUNGS)
#else
#define MB_LAW static inline
#define MB_ARG
#define mb_for_each_rung(i) for (i = 0; i < MB_RUNGS; i++)
#endif

static inline __u64 mb_min(__u64 a, __u64 b)
{
	return a < b ? a : b;
}

static inline __u64 mb_max(__u64 a, __u64 b)
{
	return a > b ? a : b;
}

static inline __u32 mb_u32(__u64 v)
{
	return mb_min(v, 0xffffffffU);
}

/* Smallest i with 2^i >= v, and 0 for 0. */
static inline __u32 mb_log2_up(__u32 v)
{
	__u32 i = 0;

	if (v < 2)
		return 0;
	v--;
	if (v >> 16) {
		i += 16;
		v >>= 16;
	}
	if (v >> 8) {
		i += 8;
		v >>= 8;
	}
	if (v >> 4) {
		i += 4;
		v >>= 4;
	}
	if (v >> 2) {
		i += 2;
		v >>= 2;
	}
	return i + (v >> 1) + 1;
}

static inline __u32 mb_order_class(__u32 order)
{
	return mb_min(order, MB_ORDER_MAX);
}

static inline __u32 mb_channels_class(__u32 nr_channels)
{
	/* More than 2^16 channels there are not. */
	return nr_channels ? 1U << mb_log2_up(mb_min(nr_channels, 1U << 16)) : 0;
}

static inline __u32 mb_rung_of(__u32 pages)
{
	return mb_min(mb_log2_up(pages), MB_RUNGS - 1);
}

static inline __u32 mb_rung_known(const struct mb_rung *r)
{
	return (r->samples | r->fixed.prev | r->page.prev) != 0;
}

/* What is known of a rung is old, or only hearsay from above. */
static inline __u32 mb_rung_doubtful(const struct mb_engine *e, const struct mb_rung *r)
{
	return !r->samples || e->samples - r->last > MB_FORGET;
}

static inline __u32 mb_peak_value(const struct mb_peak *p)
{
	/* A window's only value is not to be trusted, unless there is no other. */
	return mb_max(p->prev, p->second) ?: p->top;
}

static inline void mb_peak_add(struct mb_peak *p, __u32 v)
{
	if (v > p->top) {
		p->second = p->top;
		p->top = v;
	} else if (v > p->second) {
		p->second = v;
	}
}

static inline void mb_peak_rotate(struct mb_peak *p)
{
	p->prev = p->second ?: p->top;
	p->top = 0;
	p->second = 0;
}

static inline __u64 mb_rung_delay(const struct mb_rung *r, __u32 pages)
{
	return mb_peak_value(&r->fixed) + (((__u64)mb_peak_value(&r->page) * pages) >> 8);
}

/* Largest batch within @budget at these costs. */
static inline __u32 mb_fit(__u64 budget_ns, __u64 fixed_ns, __u64 page)
{
	if (budget_ns <= fixed_ns)
		return 0;
	if (!page)
		return 1U << (MB_RUNGS - 1);
	return mb_min(((budget_ns - fixed_ns) << 8) / page, 1U << (MB_RUNGS - 1));
}

static inline __u32 mb_rung_fit(const struct mb_rung *r, __u64 budget_ns)
{
	return mb_fit(budget_ns, mb_peak_value(&r->fixed), mb_peak_value(&r->page));
}

static inline __u64 mb_prior_delay(__u32 pages)
{
	return MB_PRIOR_FIXED_NS + (((__u64)MB_PRIOR_PAGE * pages) >> 8);
}

static inline __u32 mb_start_pages(__u64 budget_ns)
{
	return mb_min(mb_fit(budget_ns, MB_PRIOR_FIXED_NS, MB_PRIOR_PAGE), MB_START_PAGES);
}

/* A climb over the rungs of an engine. */
struct mb_climb {
	__u64 budget_ns;
	__u32 start;		/* what is safe when nothing is known */
	__u32 below;		/* highest known rung passed, MB_RUNGS if none */
	__u32 best;		/* pages */
	__u32 limit;		/* enum mb_limit: what kept @best from being larger */
};

/*
 * Whether rung @i seems too slow for a reason that is not its size: a larger batch was fast enough
 * at about the same time. Smaller ones would be no better then.
 */
MB_LAW int mb_refuted(const struct mb_engine *e MB_ARG, __u64 budget_ns, __u32 i)
{
	__u32 last, j;
	int ret = 0;

	if (i >= MB_RUNGS)
		return 0;
	last = e->rungs[i].last;
	mb_for_each_rung(j) {
		const struct mb_rung *r = &e->rungs[j];

		if (j <= i || !r->samples)
			continue;
		/* Newer, or not much older; the difference wraps. */
		if ((__s32)(last - r->last) > MB_FORGET)
			continue;
		if (mb_rung_fit(r, budget_ns) > (1U << j) >> 1) {
			ret = 1;
			break;
		}
	}
	return ret;
}

/* Take rung @i of @e. Return: whether it is the last one. */
MB_LAW int mb_climb_rung(const struct mb_engine *e MB_ARG, struct mb_climb *c MB_ARG, __u32 i)
{
	const struct mb_rung *r, *below = NULL;
	__u32 low, fit, known;

	if (i >= MB_RUNGS)
		return 1;
	r = &e->rungs[i];
	if (c->below < MB_RUNGS)
		below = &e->rungs[c->below];
	known = mb_rung_known(r);
	if (!known && !below)
		return 0;

	low = (1U << i) >> 1;
	fit = mb_rung_fit(known ? r : below, c->budget_ns);
	if (known && below && fit < 1U << i && mb_rung_doubtful(e, r)) {
		known = 0;
		fit = mb_max(fit, mb_rung_fit(below, c->budget_ns));
	}
	if (fit <= low && known && r->samples && mb_refuted(e, c->budget_ns, i))
		return 0;
	if (fit <= low) {
		c->limit = MB_LIMIT_TARGET;
		/* Below the smallest batch ever seen: its costs, but also what is safe. */
		if (!below)
			c->best = mb_min(fit, c->start);
		return 1;
	}
	c->best = mb_min(fit, 1U << i);
	if (c->best < 1U << i) {
		c->limit = MB_LIMIT_TARGET;
		return 1;
	}
	if (known)
		c->below = i;
	return 0;
}

/* Largest batch that @e is expected to do within the budget; 0 when not even one page is. */
MB_LAW int mb_climb(const struct mb_engine *e MB_ARG, struct mb_climb *c MB_ARG)
{
	__u32 i;

	c->start = mb_start_pages(c->budget_ns);
	c->below = MB_RUNGS;
	c->limit = MB_LIMIT_UNKNOWN;
	c->best = c->start;
	if (!e->samples)
		return 0;

	c->limit = MB_LIMIT_NONE;
	c->best = 0;
	mb_for_each_rung(i) {
		if (mb_climb_rung(e, c, i))
			break;
	}
	/* Not far beyond what is known. */
	if (c->best > 2ULL * e->top_pages) {
		c->best = 2 * e->top_pages;
		c->limit = MB_LIMIT_UNKNOWN;
	}
	return 0;
}

/* The known rung nearest to rung @at, from below first; MB_RUNGS if none is known. */
MB_LAW __u32 mb_nearest(const struct mb_engine *e MB_ARG, __u32 at)
{
	__u32 found = MB_RUNGS;
	__u32 i;

	mb_for_each_rung(i) {
		if (i > at && found < MB_RUNGS)
			break;
		if (mb_rung_known(&e->rungs[i]))
			found = i;
	}
	return found;
}

static inline __u64 mb_predict(const struct mb_engine *e, __u32 pages)
{
	__u32 i = mb_nearest(e, mb_rung_of(pages));

	return i < MB_RUNGS ? mb_rung_delay(&e->rungs[i], pages) : 0;
}

/* A batch ends with the folio that crosses its limit: make that folio the one that fills it. */
static inline __u32 mb_whole_folios(__u32 pages, const struct mb_want *w)
{
	__u32 folio = 1U << mb_min(w->max_order, MB_RUNGS - 1);

	if (w->nr_pages == (__u64)w->nr_folios * folio)
		return pages < folio ? folio : pages & -folio;
	/* Of several sizes: the last one may be the largest. */
	return pages < folio ? 1 : pages - (folio - 1);
}

static inline __u64 mb_budget(const struct mb_want *w)
{
	__u64 target = mb_min(w->target_ns, MB_TIME_MAX);
	__u64 scale = w->scale_milli ?: 1000;

	target = target * mb_min(mb_max(scale, MB_SCALE_MIN), MB_SCALE_MAX) / 1000;
	return target - (target >> MB_MARGIN_SHIFT);
}

/* The batch that engine @id would do. */
MB_LAW int mb_choose_size(const struct mb_engine *e MB_ARG, const struct mb_want *w MB_ARG,
			  struct mb_choice *c MB_ARG, __u32 id)
{
	__u32 ceiling = id == MB_CPU || !w->target_ns ? MB_DEFAULT_PAGES : 1U << (MB_RUNGS - 1);
	__u32 folio = 1U << mb_min(w->max_order, MB_RUNGS - 1);
	struct mb_climb climb = { .budget_ns = mb_budget(w) };
	__u32 pages = ceiling;

	c->nr_channels = id == MB_DMA ? w->nr_channels : 0;
	if (w->target_ns) {
		mb_climb(e, &climb);
		pages = climb.best;
		c->limit = climb.limit;
	}
	if (w->max_pages)
		ceiling = mb_min(ceiling, w->max_pages);
	if (pages >= ceiling) {
		pages = ceiling;
		c->limit = MB_LIMIT_MAX_PAGES;
	}
	c->batch_pages = mb_whole_folios(pages ?: 1, w);
	c->predicted_ns = mb_predict(e, (__u32)mb_max(c->batch_pages, folio));
	if (w->target_ns && c->batch_pages <= folio &&
	    (c->predicted_ns ?: mb_prior_delay(folio)) > climb.budget_ns)
		c->limit = MB_LIMIT_ONE_FOLIO;
	return 0;
}

/* Whether a rung has seen enough batches to be judged by them. */
static inline __u32 mb_rung_judged(const struct mb_rung *r)
{
	return r->samples >= MB_TRIAL_RUNG || r->page.prev;
}

/*
 * Whether an engine is known well enough at the size of a batch to do without a trial. Every other
 * batch at most is a trial of a rung: what was asked for may never come out as that size.
 */
static inline __u32 mb_tried(const struct mb_engine *e, const struct mb_want *w, __u32 pages)
{
	if (e->samples < MB_TRIAL_FIRST)
		return 0;
	return (w->turn & 1) || mb_rung_judged(&e->rungs[mb_rung_of(mb_min(pages, w->nr_pages))]);
}

/* The engine that is to be measured, whatever is known of it; MB_NR_ENGINES for none. */
static inline __u32 mb_on_trial(const struct mb_model *m, const struct mb_want *w, __u32 better,
				const struct mb_choice *cpu, const struct mb_choice *dma)
{
	if (!mb_tried(&m->engine[MB_DMA], w, dma->batch_pages))
		return MB_DMA;
	if (!mb_tried(&m->engine[MB_CPU], w, cpu->batch_pages))
		return MB_CPU;
	if (w->turn % MB_TRIAL_PERIOD < MB_TRIAL_AGAIN)
		return better == MB_DMA ? MB_CPU : MB_DMA;
	return MB_NR_ENGINES;
}

static inline __u32 mb_whole_cost(const struct mb_engine *e, __u32 pages)
{
	__u32 i = mb_nearest(e, mb_rung_of(pages));

	return i < MB_RUNGS ? e->rungs[i].whole : 0xffffffffU;
}

/* Which of two choices, one of each engine. */
static inline __u32 mb_better(const struct mb_model *m, const struct mb_want *w,
			      const struct mb_choice *cpu, const struct mb_choice *dma)
{
	__u32 cpu_late = cpu->limit == MB_LIMIT_ONE_FOLIO;
	__u32 dma_late = dma->limit == MB_LIMIT_ONE_FOLIO;
	__u32 better, trial;

	/* No trial is worth a batch that is late. */
	if (cpu_late != dma_late)
		return cpu_late ? MB_DMA : MB_CPU;
	if (cpu_late)
		better = dma->predicted_ns < cpu->predicted_ns ? MB_DMA : MB_CPU;
	else
		better = mb_whole_cost(&m->engine[MB_DMA], dma->batch_pages) <
			 mb_whole_cost(&m->engine[MB_CPU], cpu->batch_pages) ? MB_DMA : MB_CPU;
	trial = mb_on_trial(m, w, better, cpu, dma);
	return trial < MB_NR_ENGINES ? trial : better;
}

/**
 * mb_choose() - size and engine of the next batch
 * @m: model of its direction, folio order and channels; only read, races do no harm
 * @w: what it has to be
 * @c: the choice
 */
static inline void mb_choose(const struct mb_model *m, const struct mb_want *w,
			     struct mb_choice *c)
{
	struct mb_choice dma = {};

	mb_choose_size(&m->engine[MB_CPU], w, c, MB_CPU);
	if (w->nr_channels) {
		mb_choose_size(&m->engine[MB_DMA], w, &dma, MB_DMA);
		if (mb_better(m, w, c, &dma) == MB_DMA)
			*c = dma;
	}
	if (c->limit != MB_LIMIT_ONE_FOLIO && w->nr_pages <= c->batch_pages)
		c->limit = MB_LIMIT_NONE;
}

static inline void mb_peak_set(struct mb_peak *p, __u32 v)
{
	p->top = 0;
	p->second = 0;
	p->prev = v;
}

/* Make room for a sample. */
static inline void mb_rung_window(const struct mb_engine *e, struct mb_rung *r)
{
	if (mb_rung_doubtful(e, r)) {
		mb_peak_set(&r->fixed, 0);
		mb_peak_set(&r->page, 0);
	} else if (r->samples >= MB_WINDOW_SAMPLES) {
		mb_peak_rotate(&r->fixed);
		mb_peak_rotate(&r->page);
	} else {
		return;
	}
	r->samples = 0;
}

/*
 * A page in a smaller batch does not cost less: when costs have risen, the rungs below learn it by
 * hearsay, so that backing off takes no miss of its own on each of them. Their own next sample
 * weighs more.
 */
static inline void mb_spread(struct mb_engine *e, __u32 at)
{
	__u32 cost = mb_peak_value(&e->rungs[at].page);
	__u32 i;

	mb_for_each_rung(i) {
		struct mb_rung *r = &e->rungs[i];

		if (i >= at)
			break;
		if (!mb_rung_known(r) || mb_peak_value(&r->page) >= cost)
			continue;
		mb_peak_set(&r->page, cost);
		r->samples = 0;
	}
}

/**
 * mb_learn() - take in what a batch cost
 * @e: the engine that was asked to do it
 * @s: what it was
 *
 * It counts for the rung of its own size, so that a batch which was cut short says nothing of
 * larger ones. One that moved nothing, or whose time went largely into folios that did not move,
 * says nothing of any.
 *
 * Return: whether it was of use.
 */
static inline __u32 mb_learn(struct mb_engine *e, const struct mb_sample *s)
{
	__u64 first = mb_min(s->first_ns, MB_TIME_MAX);
	__u64 growing = mb_min(s->growing_ns, first);
	__u64 total = mb_min(s->total_ns, MB_TIME_MAX);
	__u32 n = s->nr_moved;
	struct mb_rung *r;
	__u32 i;

	if (!n || !first || s->nr_failed > n / 4)
		return 0;
	i = mb_rung_of(n);
	if (i >= MB_RUNGS)
		return 0;
	r = &e->rungs[i];
	mb_rung_window(e, r);
	mb_peak_add(&r->fixed, mb_u32(first - growing));
	mb_peak_add(&r->page, mb_u32((growing << 8) / n + 1));
	total = mb_u32((total << 8) / n);
	/* A mean over about eight batches; of the first few the best, since some were cold. */
	if (!r->whole || (!mb_rung_judged(r) && total < r->whole))
		r->whole = total;
	else if (mb_rung_judged(r))
		r->whole = r->whole - r->whole / 8 + total / 8;
	/* It wraps after 4 billion batches, but 0 and little mean that nothing is known. */
	if (!++e->samples)
		e->samples = MB_TRIAL_FIRST;
	e->top_pages = mb_max(e->top_pages, n);
	r->last = e->samples;
	r->samples++;
	mb_spread(e, i);
	return 1;
}

#endif /* MIGBATCH_LAW_H */
