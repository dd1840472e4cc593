// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Forgets the figures of cgroups that are gone: the BPF programs add entries and never delete
 * any, so without this the maps would fill up on a machine that makes cgroups by the thousand.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

#include "bpfobj.h"
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

static void sweep_map(struct manager *m, const char *name, size_t key_size, size_t value_size)
{
	_cleanup_close_ int fd = pin_map_open(name, key_size, value_size);
	struct sweep s = { .m = m, .key_size = key_size };
	_cleanup_free_ char *key = malloc(key_size);

	if (fd < 0 || !key)
		return;
	map_each(fd, key, key_size, sweep_visit, &s);
	for (size_t i = 0; i < s.nr; i++)
		bpf_map_delete_elem(fd, s.keys + i * key_size);
	free(s.keys);
}

void departed_add(struct manager *m, const struct cgroup *cgroup)
{
	struct departed *list;

	if (m->departed_nr >= DEPARTED_MAX)
		return;
	list = reallocarray(m->departed, m->departed_nr + 1, sizeof(*list));
	if (!list)
		return;
	m->departed = list;
	list += m->departed_nr;
	*list = (struct departed){ .id = cgroup->id, .path = strdup(cgroup->path) };
	m->departed_nr += list->path != NULL;
}

const char *departed_path(const struct manager *m, uint64_t id)
{
	for (size_t i = 0; i < m->departed_nr; i++)
		if (m->departed[i].id == id)
			return m->departed[i].path;
	return NULL;
}

/* Names without figures, never seen or deleted by now. */
static void departed_sweep(struct manager *m)
{
	size_t kept = 0;

	for (size_t i = 0; i < m->departed_nr; i++) {
		struct departed d = m->departed[i];

		if (m->absent_nr &&
		    bsearch(&d.id, m->absent, m->absent_nr, sizeof(d.id), id_compare))
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
	sweep_map(m, "hist", sizeof(struct mb_hist_key), sizeof(struct mb_hist));
	sweep_map(m, "counts", sizeof(struct mb_counts_key), sizeof(struct mb_counts));
	sweep_map(m, "decisions", sizeof(uint64_t), sizeof(struct mb_decision));

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
	m->departed = NULL;
	m->departed_nr = 0;
}
