// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Forgets the figures of cgroups that are gone: the BPF programs add entries and never delete
 * any, so without this the maps would fill up on a machine that makes cgroups by the thousand.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

#include "bpfobj.h"
#include "histogram.h"
#include "manager.h"
#include "stats.h"
#include "util.h"

/* More than that between two sweeps lose their names, and only these. */
#define DEPARTED_MAX 8192

/* Figures stay so long at least after a cgroup's end, for whoever wants to read them. */
#define SWEEP_EVERY_NS (300 * NSEC_PER_SEC)

struct sweep {
	struct manager *m;
	size_t key_size;
	char *keys;		/* to be deleted after the walk */
	size_t nr;
};

static int id_compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* A key of each map swept starts with the cgroup's id. Only ids absent twice running are taken. */
static int sweep_visit(const void *key, void *data)
{
	struct sweep *s = data;
	struct manager *m = s->m;
	uint64_t id;
	char *keys;

	memcpy(&id, key, sizeof(id));
	if (cgroup_by_id(&m->cgroups, id))
		return 0;
	if (!m->absent_nr ||
	    !bsearch(&id, m->absent, m->absent_nr, sizeof(id), id_compare)) {
		uint64_t *next = reallocarray(m->absent_next, m->absent_next_nr + 1, sizeof(id));

		if (!next)
			return -ENOMEM;
		m->absent_next = next;
		next[m->absent_next_nr++] = id;
		return 0;
	}
	keys = reallocarray(s->keys, s->nr + 1, s->key_size);
	if (!keys)
		return -ENOMEM;
	s->keys = keys;
	memcpy(keys + s->nr++ * s->key_size, key, s->key_size);
	return 0;
}

/* The figures of a cgroup that had no series of its own go on counting for the others. */
static bool is_retired(const struct manager *m, uint64_t id)
{
	const struct departed *d = departed_find(m, id);

	return !d || !d->had_series;
}

static void retire_hist(struct sweep *s, int fd, const void *data, struct percpu *percpu)
{
	const struct mb_hist_key *key = data;
	struct mb_hist sum;

	if (key->metric < MB_NR_METRICS && is_retired(s->m, key->cgroup_id) &&
	    !hist_lookup(fd, key, percpu, &sum))
		hist_add(&s->m->retired.hist[key->metric], &sum);
}

static void retire_counts(struct sweep *s, int fd, const void *data, struct percpu *percpu)
{
	const struct mb_counts_key *key = data;
	struct mb_counts sum;

	if (is_retired(s->m, key->cgroup_id) && !counts_lookup(fd, key, percpu, &sum))
		figures_add_counts(&s->m->retired, key->reason, &sum);
}

static void sweep_map(struct manager *m, const char *name, size_t key_size, size_t value_size,
		      void (*retire)(struct sweep *s, int fd, const void *key,
				     struct percpu *percpu))
{
	_cleanup_close_ int fd = pin_map_open(name, key_size, value_size);
	struct sweep s = { .m = m, .key_size = key_size };
	_cleanup_free_ char *key = malloc(key_size);
	struct percpu percpu;

	if (fd < 0 || !key || percpu_init(&percpu))
		return;
	map_each(fd, key, key_size, sweep_visit, &s);
	for (size_t i = 0; i < s.nr; i++) {
		if (retire)
			retire(&s, fd, s.keys + i * key_size, &percpu);
		bpf_map_delete_elem(fd, s.keys + i * key_size);
	}
	free(s.keys);
	percpu_free(&percpu);
}

void departed_add(struct manager *m, const struct cgroup *cgroup)
{
	struct departed *list;

	/* Those with series are few, and must be known. */
	if (m->departed_nr >= DEPARTED_MAX && !cgroup->has_series)
		return;
	list = reallocarray(m->departed, m->departed_nr + 1, sizeof(*list));
	if (!list)
		return;
	m->departed = list;
	list += m->departed_nr;
	*list = (struct departed){
		.id = cgroup->id,
		.path = strdup(cgroup->path),
		.had_series = cgroup->has_series,
	};
	if (list->path && !idmap_set(&m->departed_by_id, cgroup->id, m->departed_nr))
		m->departed_nr++;
	else
		free(list->path);
}

const struct departed *departed_find(const struct manager *m, uint64_t id)
{
	size_t place = idmap_get(&m->departed_by_id, id);

	return place == IDMAP_NONE ? NULL : &m->departed[place];
}

/* Names without figures, never seen or deleted by now. */
static void departed_sweep(struct manager *m)
{
	size_t kept = 0;

	idmap_free(&m->departed_by_id);
	for (size_t i = 0; i < m->departed_nr; i++) {
		struct departed d = m->departed[i];

		if (m->absent_nr &&
		    bsearch(&d.id, m->absent, m->absent_nr, sizeof(d.id), id_compare) &&
		    !idmap_set(&m->departed_by_id, d.id, kept))
			m->departed[kept++] = d;
		else
			free(d.path);
	}
	m->departed_nr = kept;
}

void manager_sweep(struct manager *m)
{
	uint64_t now = now_ns();

	if (now - m->swept_ns < SWEEP_EVERY_NS)
		return;
	m->swept_ns = now;
	sweep_map(m, "hist", sizeof(struct mb_hist_key), sizeof(struct mb_hist),
		  retire_hist);
	sweep_map(m, "counts", sizeof(struct mb_counts_key), sizeof(struct mb_counts),
		  retire_counts);
	sweep_map(m, "decisions", sizeof(uint64_t), sizeof(struct mb_decision), NULL);

	free(m->absent);
	m->absent = m->absent_next;
	m->absent_nr = m->absent_next_nr;
	m->absent_next = NULL;
	m->absent_next_nr = 0;
	if (m->absent_nr)
		qsort(m->absent, m->absent_nr, sizeof(*m->absent), id_compare);
	departed_sweep(m);
}

void manager_sweep_free(struct manager *m)
{
	free(m->absent);
	free(m->absent_next);
	m->absent = m->absent_next = NULL;
	for (size_t i = 0; i < m->departed_nr; i++)
		free(m->departed[i].path);
	free(m->departed);
	idmap_free(&m->departed_by_id);
	m->departed = NULL;
	m->departed_nr = 0;
}
