// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Gathers the figures that metrics.c writes. Who has series of his own is decided once and for
 * all: a series that moved to and fro between a cgroup and the others would look like a counter
 * that was reset.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

#include "bpfobj.h"
#include "histogram.h"
#include "log.h"
#include "manager.h"
#include "stats.h"
#include "util.h"
#include "version.h"

/* As often as Prometheus is told to look, by its own default. */
#define WRITE_EVERY_NS (15 * NSEC_PER_SEC)

struct gathering {
	struct manager *m;
	struct metrics_cgroup *list;	/* the last one is that of all others */
	size_t nr;
	struct idmap places;		/* of ids in @list */
	struct idmap promoted;		/* ids whose figures were among the others' until now */
	struct percpu percpu;
	int fd;
};

static int mark_seen(const void *key, void *data)
{
	struct manager *m = data;
	struct cgroup *c;
	uint64_t id;

	memcpy(&id, key, sizeof(id));
	c = cgroup_by_id(&m->cgroups, id);
	if (c)
		c->seen = true;
	return 0;
}

static void see(struct manager *m)
{
	_cleanup_close_ int fd = pin_map_open("counts", sizeof(struct mb_counts_key),
					      sizeof(struct mb_counts));
	struct mb_counts_key key;

	for (size_t i = 0; i < m->cgroups.nr; i++)
		m->cgroups.list[i].seen = false;
	if (fd >= 0)
		map_each(fd, &key, sizeof(key), mark_seen, m);
}

/*
 * Cgroups with a target come first; those without may have half of the room, so that one that gets
 * a target later finds some.
 */
static void choose(struct gathering *g)
{
	struct manager *m = g->m;
	size_t room = m->config.metrics_cgroups, taken = 0;

	for (size_t i = 0; i < m->cgroups.nr; i++)
		taken += m->cgroups.list[i].has_series;
	for (int pass = 0; pass < 2; pass++) {
		size_t limit = pass ? room / 2 : room;

		for (size_t i = 0; i < m->cgroups.nr && taken < limit; i++) {
			struct cgroup *c = &m->cgroups.list[i];

			if (c->has_series || !(pass ? c->seen : c->has_target))
				continue;
			c->has_series = true;
			taken++;
			/* What the others counted of it stays theirs. */
			if (c->in_other)
				idmap_set(&g->promoted, c->id, 0);
		}
	}
}

static int make_list(struct gathering *g)
{
	struct manager *m = g->m;
	size_t nr = 0;

	for (size_t i = 0; i < m->cgroups.nr; i++)
		nr += m->cgroups.list[i].has_series;
	g->list = calloc(nr + 1, sizeof(*g->list));
	if (!g->list)
		return -ENOMEM;
	for (size_t i = 0; i < m->cgroups.nr; i++) {
		const struct cgroup *c = &m->cgroups.list[i];

		if (!c->has_series || idmap_set(&g->places, c->id, g->nr))
			continue;
		g->list[g->nr++] = (struct metrics_cgroup){
			.path = c->path,
			.has_target = c->has_target,
			.target = {
				.ns = c->entry.target_ns,
				.pct_milli = c->entry.pct_milli,
				.signal = c->entry.signal,
			},
			.scale_milli = c->loop.scale,
			.missing = c->missing,
			.decided = c->decided,
			.samples = c->samples,
			.misses = c->misses,
		};
	}
	g->list[g->nr] = (struct metrics_cgroup){ .path = METRICS_OTHER };
	return 0;
}

/* Where the figures of a cgroup count; NULL for one that is gone and had series. */
static struct figures *figures_of(struct gathering *g, uint64_t id)
{
	size_t place = idmap_get(&g->places, id);
	const struct departed *d;
	struct cgroup *c;

	if (place != IDMAP_NONE)
		return &g->list[place].figures;
	c = cgroup_by_id(&g->m->cgroups, id);
	d = c ? NULL : departed_find(g->m, id);
	if (d && d->had_series)
		return NULL;
	if (c)
		c->in_other = true;
	return &g->list[g->nr].figures;
}

static int take_hist(const void *data_key, void *data)
{
	const struct mb_hist_key *key = data_key;
	struct gathering *g = data;
	struct figures *to = figures_of(g, key->cgroup_id);
	struct mb_hist sum;

	if (!to || key->metric >= MB_NR_METRICS || hist_lookup(g->fd, key, &g->percpu, &sum))
		return 0;
	hist_add(&to->hist[key->metric], &sum);
	if (idmap_get(&g->promoted, key->cgroup_id) != IDMAP_NONE)
		hist_add(&g->m->retired.hist[key->metric], &sum);
	return 0;
}

static int take_counts(const void *data_key, void *data)
{
	const struct mb_counts_key *key = data_key;
	struct gathering *g = data;
	struct figures *to = figures_of(g, key->cgroup_id);
	struct mb_counts sum;

	if (!to || counts_lookup(g->fd, key, &g->percpu, &sum))
		return 0;
	figures_add_counts(to, key->reason, &sum);
	if (idmap_get(&g->promoted, key->cgroup_id) != IDMAP_NONE)
		figures_add_counts(&g->m->retired, key->reason, &sum);
	return 0;
}

static void take_map(struct gathering *g, const char *name, size_t key_size, size_t value_size,
		     int (*take)(const void *key, void *data))
{
	char key[sizeof(struct mb_hist_key) + sizeof(struct mb_counts_key)];
	_cleanup_close_ int fd = pin_map_open(name, key_size, value_size);

	if (fd < 0)
		return;
	g->fd = fd;
	map_each(fd, key, key_size, take, g);
}

static int gather(struct gathering *g)
{
	int err;

	see(g->m);
	choose(g);
	err = make_list(g);
	if (!err)
		err = percpu_init(&g->percpu);
	if (err)
		return err;
	take_map(g, "hist", sizeof(struct mb_hist_key), sizeof(struct mb_hist), take_hist);
	take_map(g, "counts", sizeof(struct mb_counts_key), sizeof(struct mb_counts), take_counts);
	figures_add(&g->list[g->nr].figures, &g->m->retired);
	return 0;
}

static size_t kernel_counts(struct metrics_counter *list)
{
	size_t nr = 0;

	for (size_t i = 0; kernel_counters[i] && nr < KERNEL_COUNTERS_MAX; i++) {
		list[nr].name = kernel_counters[i];
		nr += !kernel_counter_read(kernel_counters[i], &list[nr].value);
	}
	return nr;
}

static uint64_t lost_values(void)
{
	_cleanup_close_ int fd = pin_map_open("lost", sizeof(uint32_t), sizeof(uint64_t));
	uint64_t lost = 0;
	uint32_t zero = 0;

	if (fd < 0 || bpf_map_lookup_elem(fd, &zero, &lost))
		return 0;
	return lost;
}

static void write_gathered(FILE *out, const struct gathering *g)
{
	const struct manager *m = g->m;
	struct metrics_counter kernel[KERNEL_COUNTERS_MAX];
	struct metrics metrics = {
		.version = MIGBATCH_VERSION,
		.mode = mode_name(m->config.mode),
		.policy_state = policy_state_name(m->policy.state),
		.observing = m->observer.obj != NULL,
		.nr_cgroups = m->cgroups.nr,
		.max_series = m->config.metrics_cgroups,
		.nr_series = g->nr,
		.lost = lost_values(),
		.kernel = kernel,
		.nr_kernel = kernel_counts(kernel),
		.modes = mode_names,
		.policy_states = policy_state_names,
		.reason_name = reason_name,
		.cgroups = g->list,
		.nr = g->nr + 1,
		.page_size = sysconf(_SC_PAGESIZE),
	};

	for (size_t i = 0; i < m->cgroups.nr; i++) {
		metrics.nr_targets += m->cgroups.list[i].has_target;
		metrics.nr_missing += m->cgroups.list[i].missing;
	}
	metrics_write(out, &metrics);
}

char *manager_metrics(struct manager *m)
{
	struct gathering g = { .m = m };
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	if (!gather(&g))
		write_gathered(out, &g);
	fclose(out);
	free(g.list);
	percpu_free(&g.percpu);
	idmap_free(&g.places);
	idmap_free(&g.promoted);
	if (text && !*text) {
		free(text);
		return NULL;
	}
	return text;
}

void manager_metrics_round(struct manager *m)
{
	_cleanup_free_ char *text = NULL;
	const char *path = m->config.metrics_file;
	int err;

	if (!path || (m->metrics_ns && now_ns() - m->metrics_ns < WRITE_EVERY_NS))
		return;
	m->metrics_ns = now_ns();
	text = manager_metrics(m);
	err = text ? file_write_atomic(path, text, 0644) : -ENOMEM;
	if (err && !m->metrics_failed)
		log_event(LOG_ERR, "metrics-failed", NULL, NULL, "MetricsFile=%s (%s) cannot be "
			  "written: %s; its directory must exist, belong to root and be named in "
			  "ReadWritePaths= of the service", path, m->config.metrics_origin,
			  strerror(-err));
	else if (!err && m->metrics_failed)
		log_event(LOG_INFO, "metrics-written", NULL, NULL, "MetricsFile=%s can be written "
			  "again", path);
	m->metrics_failed = err != 0;
}

/* What was true while the daemon ran is not true for ever. */
void manager_metrics_remove(struct manager *m)
{
	if (m->config.metrics_file)
		unlink(m->config.metrics_file);
}
