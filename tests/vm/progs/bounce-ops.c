// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Operations of bounce. Each takes one slot for itself, does something to a part of it that must or
 * must not change what is there, and compares. Migration goes on meanwhile.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bounce.h"

#ifndef MADV_COLD
#define MADV_COLD		20
#define MADV_PAGEOUT		21
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE	23
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE		25
#endif

#define MAX_CHILDREN	2
/* Pages that are probed for the fault that they must give. */
#define PROBES		4

struct child {
	pid_t pid;
	struct slot *slot;
	uint32_t seq;
};

struct ops {
	struct rnd rnd;
	struct child child[MAX_CHILDREN];
};

/* Of stores by operations and children: one count for all, so that no two are equal. */
static atomic_uint_fast32_t last_seq;

static uint32_t next_seq(void)
{
	return atomic_fetch_add(&last_seq, 1) + 1;
}

/* Pages of a slot that lie one after the other. */
struct range {
	size_t page, nr;
};

static void *range_addr(struct slot *s, struct range r)
{
	return slot_page(s, r.page);
}

static size_t range_bytes(struct range r)
{
	return r.nr * PAGE_BYTES;
}

static void nap(struct ops *o, unsigned int max_us)
{
	usleep(rnd_below(&o->rnd, max_us) + 1);
}

/* Much of a slot, some of it, or a few pages; with the bounds of folios, or across them. */
static struct range pick(struct ops *o, struct slot *s)
{
	size_t folio = s->folio / PAGE_BYTES;
	struct range r = { .page = rnd_below(&o->rnd, s->pages) };
	size_t most = s->pages, n;

	/* All of it often enough: what was split must become large again. */
	switch (rnd_below(&o->rnd, 8)) {
	case 0: r.nr = 1; break;
	case 1: r.nr = 1 + rnd_below(&o->rnd, 16); break;
	case 2: r.nr = 1 + rnd_below(&o->rnd, 2 * folio); break;
	case 3: r.nr = folio * (1 + rnd_below(&o->rnd, 4)); r.page -= r.page % folio; break;
	case 4: r.nr = most; break;
	default: r.page = 0; r.nr = most; break;
	}
	if (r.nr > most - r.page)
		r.nr = most - r.page;
	for (n = 1; n < r.nr; n++)
		if (s->moved[r.page + n] != s->moved[r.page])
			break;
	r.nr = n;
	return r;
}

/* The part from the first page on of which all may be written. */
static struct range writable_part(struct slot *s, struct range r)
{
	size_t n;

	for (; r.nr && s->page[r.page].prot != MAY_WRITE; r.page++, r.nr--)
		;
	for (n = 0; n < r.nr && s->page[r.page + n].prot == MAY_WRITE; n++)
		;
	r.nr = n;
	return r;
}

/* madvise(2) that may fail with one of three errors, and with no other. */
static bool advise(struct slot *s, struct range r, int advice, int err1, int err2, int err3)
{
	if (!madvise(range_addr(s, r), range_bytes(r), advice))
		return true;
	if (errno != err1 && errno != err2 && errno != err3)
		bad("madvise %d of slot %u pages %zu+%zu: %s", advice, s->id, r.page, r.nr,
		    strerror(errno));
	return false;
}

static void unlock_range(struct slot *s, struct range r)
{
	size_t n;

	if (munlock(range_addr(s, r), range_bytes(r)))
		bad("munlock of slot %u: %s", s->id, strerror(errno));
	for (n = 0; n < r.nr; n++)
		s->page[r.page + n].locked = false;
}

static bool any_locked(struct slot *s, struct range r)
{
	size_t n;

	for (n = 0; n < r.nr; n++)
		if (s->page[r.page + n].locked)
			return true;
	return false;
}

/* What must be unlocked for an advice that refuses locked memory. */
static void unlock_if_locked(struct slot *s, struct range r)
{
	if (any_locked(s, r))
		unlock_range(s, r);
}

static void fill_again(struct ops *o, struct slot *s, struct range r)
{
	static const size_t sizes[] = { 64 << 10, 256 << 10, 1 << 20, 2 << 20 };

	if (one_in(&o->rnd, 4))
		return;
	set_folio_size(one_in(&o->rnd, 3) ? sizes[rnd_below(&o->rnd, 4)] : s->folio);
	if (s->folio > PAGE_BYTES && !one_in(&o->rnd, 4))
		advise(s, r, MADV_HUGEPAGE, 0, 0, 0);
	slot_fill(s, r.page, r.nr);
}

/* A child that shares this memory relies on its contents. */
static bool contents_are_needed(struct slot *s)
{
	return s->child_nr;
}

/* --- protection */

static void probe(struct ops *o, struct slot *s, struct range r)
{
	int n;

	for (n = 0; n < PROBES; n++) {
		size_t page = r.page + rnd_below(&o->rnd, r.nr);

		if (s->page[page].prot != MAY_WRITE)
			slot_must_fault(s, page, COL_OPS);
	}
}

static void protect(struct slot *s, struct range r, enum prot prot)
{
	static const int flags[] = { PROT_READ | PROT_WRITE, PROT_READ, PROT_NONE };
	static atomic_uint count;
	size_t n;

	if (bounce.sabotage == SABOTAGE_PROTECT && prot != MAY_WRITE &&
	    atomic_fetch_add(&count, 1) == 2)
		prot = MAY_READ;
	else if (mprotect(range_addr(s, r), range_bytes(r), flags[prot]))
		bad("mprotect of slot %u: %s", s->id, strerror(errno));
	for (n = 0; n < r.nr; n++)
		s->page[r.page + n].prot = prot;
}

/* The protection stays until another operation takes it away: writers meet it. */
static void op_protect(struct ops *o, struct slot *s)
{
	struct range r = pick(o, s), free = writable_part(s, r);

	if (free.nr != r.nr) {
		protect(s, r, MAY_WRITE);
		slot_check(s, r.page, r.nr, false);
		return;
	}
	protect(s, r, one_in(&o->rnd, 4) ? MAY_NOTHING : MAY_READ);
	probe(o, s, r);
	if (!one_in(&o->rnd, 3))
		return;
	nap(o, 3000);
	probe(o, s, r);
	protect(s, r, MAY_WRITE);
}

/* --- mappings that go and come */

static void op_unmap(struct ops *o, struct slot *s)
{
	struct range r = pick(o, s);
	size_t n;

	if (munmap(range_addr(s, r), range_bytes(r)))
		bad("munmap of slot %u: %s", s->id, strerror(errno));
	if (s->kind != KIND_SHMEM)
		slot_forget(s, r.page, r.nr);
	for (n = 0; n < r.nr; n++) {
		s->page[r.page + n].prot = MAY_NOTHING;
		s->page[r.page + n].locked = false;
	}
	probe(o, s, r);
	slot_map(s, r.page, r.nr);
	for (n = 0; n < r.nr; n++)
		s->page[r.page + n].prot = MAY_WRITE;
	slot_check(s, r.page, r.nr, false);
	if (!contents_are_needed(s))
		fill_again(o, s, r);
}

/* Nothing of ours may be where pages come from: the next mmap of anybody would go there. */
static void reserve_again(void *addr, size_t bytes)
{
	if (mmap(addr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
		 MAP_FIXED_NOREPLACE, -1, 0) != addr)
		cannot("addresses were taken");
}

static bool all_home(struct slot *s)
{
	size_t page;

	for (page = 0; page < s->pages; page++)
		if (s->moved[page])
			return false;
	return true;
}

/* Large folios come to lie across the bounds of page tables, and partly elsewhere. */
static void op_move(struct ops *o, struct slot *s)
{
	struct range r = pick(o, s);
	void *from = range_addr(s, r), *to;
	size_t n;

	if (all_home(s))
		s->away = s->away_area + (one_in(&o->rnd, 4) ? 0 :
					  rnd_below(&o->rnd, HUGE_PAGES)) * PAGE_BYTES;
	to = (s->moved[r.page] ? s->home : s->away) + r.page * PAGE_BYTES;
	if (mremap(from, range_bytes(r), range_bytes(r), MREMAP_MAYMOVE | MREMAP_FIXED, to) != to)
		cannot("mremap of slot %u pages %zu+%zu: %s", s->id, r.page, r.nr,
		       strerror(errno));
	reserve_again(from, range_bytes(r));
	for (n = 0; n < r.nr; n++)
		s->moved[r.page + n] = !s->moved[r.page + n];
	slot_check(s, r.page, r.nr, false);
}

/* --- advice that loses contents */

static void op_dontneed(struct ops *o, struct slot *s)
{
	static atomic_uint count;
	struct range r = pick(o, s);

	unlock_if_locked(s, r);
	if (bounce.sabotage != SABOTAGE_DONTNEED || atomic_fetch_add(&count, 1) != 3)
		advise(s, r, MADV_DONTNEED, 0, 0, 0);
	/* What is shared stays, a file's own contents come back, the rest is zero. */
	if (s->kind != KIND_SHMEM)
		slot_forget(s, r.page, r.nr);
	slot_check(s, r.page, r.nr, false);
	if (s->kind != KIND_SHMEM)
		fill_again(o, s, r);
}

static void op_remove(struct ops *o, struct slot *s)
{
	struct range r = writable_part(s, pick(o, s));

	if (s->kind != KIND_SHMEM || !r.nr || contents_are_needed(s))
		return;
	unlock_if_locked(s, r);
	advise(s, r, MADV_REMOVE, 0, 0, 0);
	slot_forget(s, r.page, r.nr);
	slot_check(s, r.page, r.nr, false);
	fill_again(o, s, r);
}

/* After a store the page is kept: as a whole it is either what it was, or new. */
static void settle_freed(struct slot *s, size_t page)
{
	struct page_state *state = &s->page[page], fresh = { .prot = MAY_WRITE };
	size_t at, at_fresh;

	/* Without a look at what was there, as slot_write() would have. */
	state->seq[COL_OPS] = fresh.seq[COL_OPS] = next_seq();
	*slot_word(s, page, COL_OPS) = word_of(s, page, state, COL_OPS);
	if (page_matches(s, page, state, &at))
		return;
	if (!page_matches(s, page, &fresh, &at_fresh)) {
		bad("freed page %zu of slot %u is neither old (word %zu) nor zero (word %zu)", page,
		    s->id, at, at_fresh);
		return;
	}
	*state = fresh;
	atomic_fetch_add(&bounce.freed, 1);
}

static void op_free(struct ops *o, struct slot *s)
{
	struct range r = writable_part(s, pick(o, s));
	size_t n;

	if (s->kind != KIND_ANON || !r.nr)
		return;
	unlock_if_locked(s, r);
	advise(s, r, MADV_FREE, 0, 0, 0);
	if (one_in(&o->rnd, 2))
		nap(o, 3000);
	/* Reclaims them: it takes no swap to drop a page. */
	if (one_in(&o->rnd, 2))
		advise(s, r, MADV_PAGEOUT, 0, 0, 0);
	for (n = 0; n < r.nr; n++)
		settle_freed(s, r.page + n);
	if (one_in(&o->rnd, 3))
		fill_again(o, s, r);
}

/* --- what must leave contents alone */

static void op_advise(struct ops *o, struct slot *s)
{
	struct range r = pick(o, s);

	switch (rnd_below(&o->rnd, 7)) {
	case 0:
		unlock_if_locked(s, r);
		advise(s, r, MADV_COLD, 0, 0, 0);
		break;
	case 1:
	case 2:
		unlock_if_locked(s, r);
		advise(s, r, MADV_PAGEOUT, 0, 0, 0);
		break;
	case 3:
		advise(s, r, MADV_HUGEPAGE, 0, 0, 0);
		break;
	case 4:
		advise(s, r, MADV_NOHUGEPAGE, 0, 0, 0);
		break;
	case 5:
		r = writable_part(s, r);
		if (r.nr)
			advise(s, r, MADV_POPULATE_WRITE, 0, 0, 0);
		break;
	default:
		/* Not aligned, not wanted, held by somebody, no memory: it is best effort. */
		if (madvise(range_addr(s, r), range_bytes(r), MADV_COLLAPSE) &&
		    (errno == EFAULT || errno == EIO))
			bad("MADV_COLLAPSE of slot %u: %s", s->id, strerror(errno));
	}
	if (r.nr && !one_in(&o->rnd, 3))
		slot_check(s, r.page, r.nr, false);
}

/* Locking faults pages in, which memory without access refuses after it was locked. */
static void op_lock(struct ops *o, struct slot *s)
{
	struct range r = pick(o, s);
	size_t n;

	if (any_locked(s, r)) {
		unlock_range(s, r);
		return;
	}
	if (mlock(range_addr(s, r), range_bytes(r)) && errno != ENOMEM && errno != EAGAIN)
		bad("mlock of slot %u: %s", s->id, strerror(errno));
	for (n = 0; n < r.nr; n++)
		s->page[r.page + n].locked = true;
	slot_check(s, r.page, r.nr, false);
}

/* Splits folios; without debugfs nothing happens. */
static void op_split(struct ops *o, struct slot *s)
{
	struct range r = pick(o, s);
	char line[128];

	/* To single pages: other sizes are refused for some, with a warning under DEBUG_VM. */
	snprintf(line, sizeof(line), "%d,0x%" PRIxPTR ",0x%" PRIxPTR ",0", getpid(),
		 (uintptr_t)range_addr(s, r), (uintptr_t)range_addr(s, r) + range_bytes(r));
	write_file("/sys/kernel/debug/split_huge_pages", line);
	slot_check(s, r.page, r.nr, false);
}

static void swap_pages(struct slot *s, size_t a, size_t b)
{
	unsigned char buf[PAGE_BYTES];

	memcpy(buf, slot_page(s, a), PAGE_BYTES);
	memcpy(slot_page(s, a), slot_page(s, b), PAGE_BYTES);
	memcpy(slot_page(s, b), buf, PAGE_BYTES);
}

static void op_check(struct ops *o, struct slot *s)
{
	static atomic_uint count;

	(void)o;
	if (bounce.sabotage == SABOTAGE_SWAP && s->kind == KIND_ANON &&
	    s->page[0].prot == MAY_WRITE && s->page[1].prot == MAY_WRITE &&
	    !atomic_fetch_add(&count, 1)) {
		slot_fill(s, 0, 2);
		swap_pages(s, 0, 1);
	}
	slot_check(s, 0, s->pages, false);
}

/* --- children */

/* What it inherited must stay as it was while the parent goes on, and its own stores must hold. */
static void child_run(struct ops *o, struct slot *s, struct range own, uint32_t seq)
{
	bool shared = s->kind == KIND_SHMEM;
	uint64_t before = bounce.wrong;
	size_t page;

	if (bounce.sabotage == SABOTAGE_CHILD)
		s->page[own.page].seq[COL_CHILD]++;
	slot_check(s, 0, s->pages, shared);
	for (page = own.page; page < own.page + own.nr; page++)
		slot_write(s, page, COL_CHILD, seq);
	nap(o, 20000);
	if (!shared)
		for (page = 0; page < s->pages; page += 1 + rnd_below(&o->rnd, 8))
			slot_write(s, page, COL_OPS, seq);
	slot_check(s, 0, s->pages, shared);
	_exit(bounce.wrong != before);
}

static void reap(struct child *c, bool wait_for_it)
{
	int status = 0;
	size_t page;
	pid_t pid;

	if (!c->pid)
		return;
	do
		pid = waitpid(c->pid, &status, wait_for_it ? 0 : WNOHANG);
	while (pid < 0 && errno == EINTR);
	if (!pid)
		return;
	if (pid < 0 || !WIFEXITED(status) || WEXITSTATUS(status))
		bad("a child of slot %u ended with status 0x%x", c->slot->id, status);
	if (c->slot->kind == KIND_SHMEM) {
		struct slot *s = c->slot;

		pthread_rwlock_wrlock(&s->lock);
		for (page = s->child_from; page < s->child_from + s->child_nr; page++)
			s->page[page].seq[COL_CHILD] = c->seq;
		s->child_nr = 0;
		pthread_rwlock_unlock(&s->lock);
	}
	c->pid = 0;
	atomic_fetch_add(&bounce.children, 1);
}

static struct child *free_child(struct ops *o)
{
	int i;

	for (i = 0; i < MAX_CHILDREN; i++)
		if (!o->child[i].pid)
			return &o->child[i];
	return NULL;
}

static void op_fork(struct ops *o, struct slot *s)
{
	struct child *c = free_child(o);
	struct range own = writable_part(s, pick(o, s));
	pid_t pid;

	if (!c || !own.nr || s->child_nr)
		return;
	c->seq = next_seq();
	pid = fork();
	if (!pid)
		child_run(o, s, own, c->seq);
	if (pid < 0)
		cannot("fork: %s", strerror(errno));
	c->pid = pid;
	c->slot = s;
	if (s->kind == KIND_SHMEM) {
		s->child_from = own.page;
		s->child_nr = own.nr;
	}
}

/* Everything may be read again, and is as it should be. */
void ops_finish(struct slot *s)
{
	struct range r = { .nr = 1 };

	for (; r.page < s->pages; r.page++)
		if (s->page[r.page].prot != MAY_WRITE)
			protect(s, r, MAY_WRITE);
	slot_check(s, 0, s->pages, false);
}

/* --- all of them */

static const struct {
	const char *name;
	void (*run)(struct ops *o, struct slot *s);
	unsigned int weight;
} table[] = {
	{ "protect", op_protect, 12 },
	{ "dontneed", op_dontneed, 14 },
	{ "free", op_free, 8 },
	{ "remove", op_remove, 6 },
	{ "advise", op_advise, 12 },
	{ "lock", op_lock, 6 },
	{ "mremap", op_move, 8 },
	{ "unmap", op_unmap, 8 },
	{ "split", op_split, 4 },
	{ "fork", op_fork, 6 },
	{ "check", op_check, 6 },
};

#define NR_OPS (sizeof(table) / sizeof(*table))

static atomic_uint_fast64_t op_count[NR_OPS];

/* The last operations, for whoever looks for the cause of what was found. */
#define LOG_SIZE 16
static struct {
	unsigned int op, slot;
} op_log[LOG_SIZE];
static atomic_uint op_log_next;

static unsigned int pick_op(struct rnd *rnd)
{
	unsigned int total = 0, i, at;

	for (i = 0; i < NR_OPS; i++)
		total += table[i].weight;
	at = rnd_below(rnd, total);
	for (i = 0; at >= table[i].weight; i++)
		at -= table[i].weight;
	return i;
}

static void run_one(struct ops *o)
{
	struct slot *s = &bounce.slot[rnd_below(&o->rnd, bounce.nr_slots)];
	unsigned int op = pick_op(&o->rnd), at;

	pthread_rwlock_wrlock(&s->lock);
	at = atomic_fetch_add(&op_log_next, 1) % LOG_SIZE;
	op_log[at].op = op;
	op_log[at].slot = s->id;
	table[op].run(o, s);
	pthread_rwlock_unlock(&s->lock);
	atomic_fetch_add(&op_count[op], 1);
}

void *ops_run(void *seed)
{
	struct ops o = { .rnd.state = (uintptr_t)seed };
	int i;

	while (!atomic_load(&bounce.stop)) {
		run_one(&o);
		for (i = 0; i < MAX_CHILDREN; i++)
			reap(&o.child[i], false);
		nap(&o, 4000);
	}
	for (i = 0; i < MAX_CHILDREN; i++)
		reap(&o.child[i], true);
	return NULL;
}

size_t ops_summary(char *buf, size_t size)
{
	size_t len = 0, i;

	for (i = 0; i < NR_OPS; i++)
		len += snprintf(buf + len, size - len, " %s=%" PRIu64, table[i].name,
				(uint64_t)op_count[i]);
	return len;
}

void ops_tell_last(void)
{
	unsigned int next = op_log_next, n = next < LOG_SIZE ? next : LOG_SIZE, i;

	fprintf(stderr, "bounce: the last operations, newest first (slot):");
	for (i = 1; i <= n; i++)
		fprintf(stderr, " %s(%u)", table[op_log[(next - i) % LOG_SIZE].op].name,
			op_log[(next - i) % LOG_SIZE].slot);
	fprintf(stderr, "\n");
}
