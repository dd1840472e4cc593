// SPDX-License-Identifier: GPL-2.0-or-later
/* Slots of bounce: their memory, and what each word of it must be. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bounce.h"

static const size_t folio_sizes[] = { 64 << 10, 256 << 10, 1 << 20, 2 << 20 };

/* Every page and every word differs from its neighbours, so that no mix-up of pages goes unseen. */
static uint64_t page_pattern(const struct slot *s, size_t page, uint32_t gen)
{
	uint64_t x = ((uint64_t)s->id << 56 | (uint64_t)gen << 24 | (page + 1)) *
		     0x9e3779b97f4a7c15ULL;

	x ^= x >> 31;
	return (x * 0xd6e8feb86659fd93ULL) | 1;
}

#define WORD_STEP 0x9e3779b97f4a7c15ULL

/* A store tells whose it is, where it belongs and how many came before. */
static uint64_t store_tag(const struct slot *s, size_t page, unsigned int col)
{
	return (uint64_t)(s->id + 1) << 56 | (uint64_t)col << 52 | (uint64_t)page << 32;
}

uint64_t word_of(const struct slot *s, size_t page, const struct page_state *state, size_t i)
{
	if (i < NR_COLS && state->seq[i])
		return store_tag(s, page, i) | state->seq[i];
	switch (state->base) {
	case BASE_FILL:
		return i < NR_COLS ? 0 : page_pattern(s, page, state->gen) + i * WORD_STEP;
	case BASE_FILE:
		return page_pattern(s, page, 0) + i * WORD_STEP;
	default:
		return 0;
	}
}

unsigned char *slot_page(struct slot *s, size_t page)
{
	bool away = atomic_load_explicit(&s->moved[page], memory_order_relaxed);

	return (away ? atomic_load_explicit(&s->away, memory_order_relaxed) : s->home) +
	       page * PAGE_BYTES;
}

volatile uint64_t *slot_word(struct slot *s, size_t page, size_t i)
{
	return (uint64_t *)slot_page(s, page) + i;
}

/* --- memory */

static unsigned char *reserve(size_t bytes)
{
	unsigned char *addr = mmap(NULL, bytes + HUGE_BYTES, PROT_NONE,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (addr == MAP_FAILED)
		cannot("no addresses for %zu bytes", bytes);
	return (void *)(((uintptr_t)addr + HUGE_BYTES - 1) & ~(HUGE_BYTES - 1));
}

void slot_map(struct slot *s, size_t page, size_t nr)
{
	int flags = MAP_FIXED_NOREPLACE | MAP_NORESERVE;
	void *want = slot_page(s, page), *got;

	flags |= s->kind == KIND_SHMEM ? MAP_SHARED : MAP_PRIVATE;
	if (s->kind == KIND_ANON)
		flags |= MAP_ANONYMOUS;
	got = mmap(want, nr * PAGE_BYTES, PROT_READ | PROT_WRITE, flags, s->fd,
		   s->kind == KIND_ANON ? 0 : page * PAGE_BYTES);
	if (got != want)
		cannot("mmap of slot %u: %s", s->id, strerror(errno));
	if (s->folio > PAGE_BYTES)
		madvise(got, nr * PAGE_BYTES, MADV_HUGEPAGE);
}

/* The file holds its pattern; its pages are clean, so that they may be dropped at any time. */
static void write_pattern_file(struct slot *s, const char *dir)
{
	const struct page_state state = { .base = BASE_FILE };
	uint64_t words[PAGE_WORDS];
	char name[256];
	size_t page, i;

	snprintf(name, sizeof(name), "%s/bounce-XXXXXX", dir);
	s->fd = mkostemp(name, O_CLOEXEC);
	if (s->fd < 0)
		cannot("no file in %s: %s", dir, strerror(errno));
	unlink(name);
	for (page = 0; page < s->pages; page++) {
		for (i = 0; i < PAGE_WORDS; i++)
			words[i] = word_of(s, page, &state, i);
		if (write(s->fd, words, sizeof(words)) != sizeof(words))
			cannot("cannot write a file in %s: %s", dir, strerror(errno));
	}
	fsync(s->fd);
	posix_fadvise(s->fd, 0, 0, POSIX_FADV_DONTNEED);
}

static void open_backing(struct slot *s, const char *dir)
{
	s->fd = -1;
	if (s->kind == KIND_FILE)
		write_pattern_file(s, dir);
	if (s->kind != KIND_SHMEM)
		return;
	s->fd = memfd_create("bounce", MFD_CLOEXEC);
	if (s->fd < 0 || ftruncate(s->fd, s->pages * PAGE_BYTES))
		cannot("memfd: %s", strerror(errno));
}

/* An operation may starve behind a stream of writers, not the other way about. */
static void init_lock(struct slot *s)
{
	pthread_rwlockattr_t attr;

	pthread_rwlockattr_init(&attr);
	pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&s->lock, &attr);
}

void slot_init(struct slot *s, unsigned int id, enum kind kind, size_t folio, size_t bytes,
	       const char *dir)
{
	s->id = id;
	s->kind = kind;
	s->folio = folio;
	s->pages = bytes / PAGE_BYTES;
	s->page = calloc(s->pages, sizeof(*s->page));
	s->moved = calloc(s->pages, sizeof(*s->moved));
	if (!s->page || !s->moved)
		cannot("out of memory");
	init_lock(s);
	open_backing(s, dir);
	s->home = reserve(bytes);
	s->away_area = reserve(bytes + HUGE_BYTES);
	s->away = s->away_area;
	munmap(s->home, bytes);
	slot_map(s, 0, s->pages);
	if (kind == KIND_FILE)
		slot_forget(s, 0, s->pages);
	set_folio_size(folio);
	if (kind != KIND_FILE)
		slot_fill(s, 0, s->pages);
}

void slot_free(struct slot *s)
{
	munmap(s->home, s->pages * PAGE_BYTES);
	munmap(s->away_area, s->pages * PAGE_BYTES + HUGE_BYTES);
	if (s->fd >= 0)
		close(s->fd);
	free(s->page);
	free(s->moved);
}

/* Kernels without large folios of some kind lack its file: then folios are smaller. */
void set_folio_size(size_t bytes)
{
	char path[128];
	size_t i;

	for (i = 0; i < sizeof(folio_sizes) / sizeof(*folio_sizes); i++) {
		bool on = folio_sizes[i] == bytes;

		snprintf(path, sizeof(path),
			 "/sys/kernel/mm/transparent_hugepage/hugepages-%zukB/enabled",
			 folio_sizes[i] >> 10);
		write_file(path, on ? "madvise" : "never");
		snprintf(path, sizeof(path),
			 "/sys/kernel/mm/transparent_hugepage/hugepages-%zukB/shmem_enabled",
			 folio_sizes[i] >> 10);
		write_file(path, on ? "advise" : "never");
	}
}

/* --- contents */

void slot_fill(struct slot *s, size_t page, size_t nr)
{
	static atomic_uint_fast32_t generation;
	uint32_t gen = atomic_fetch_add(&generation, 1) % 0xffffff + 1;
	size_t i;

	for (; nr; nr--, page++) {
		struct page_state *state = &s->page[page];
		volatile uint64_t *words = slot_word(s, page, 0);
		uint64_t pattern;

		if (state->prot != MAY_WRITE)
			continue;
		memset(state->seq, 0, sizeof(state->seq));
		state->base = BASE_FILL;
		state->gen = gen;
		pattern = word_of(s, page, state, NR_COLS);
		for (i = 0; i < NR_COLS; i++)
			words[i] = 0;
		for (; i < PAGE_WORDS; i++, pattern += WORD_STEP)
			words[i] = pattern;
	}
}

/* The pages are as new. */
void slot_forget(struct slot *s, size_t page, size_t nr)
{
	for (; nr; nr--, page++) {
		memset(s->page[page].seq, 0, sizeof(s->page[page].seq));
		s->page[page].base = s->kind == KIND_FILE ? BASE_FILE : BASE_ZERO;
	}
}

static void tell_word(struct slot *s, size_t page, size_t i, uint64_t got, uint64_t want,
		      const char *what)
{
	bad("%s: slot %u (kind %d, %zuK) page %zu at %p word %zu: 0x%016" PRIx64
	    ", should be 0x%016" PRIx64, what, s->id, s->kind, s->folio >> 10, page,
	    (void *)slot_page(s, page), i, got, want);
}

/* No store to memory that may only be read may come through, and no load where there is none. */
void slot_must_fault(struct slot *s, size_t page, unsigned int col)
{
	struct page_state *state = &s->page[page];
	volatile uint64_t *word = slot_word(s, page, col);
	uint64_t want = word_of(s, page, state, col), got;

	if (state->prot == MAY_NOTHING && try_load(word, &got))
		tell_word(s, page, col, got, want, "a load got through");
	if (try_store(word, ~want))
		tell_word(s, page, col, ~want, want, "a store got through");
	if (state->prot == MAY_READ && *word != want)
		tell_word(s, page, col, *word, want, "read-only memory changed");
	atomic_fetch_add(&bounce.refused, 1);
}

void slot_write(struct slot *s, size_t page, unsigned int col, uint32_t seq)
{
	struct page_state *state = &s->page[page];
	volatile uint64_t *word = slot_word(s, page, col);
	uint64_t want, got;

	if (state->prot != MAY_WRITE) {
		slot_must_fault(s, page, col);
		return;
	}
	want = word_of(s, page, state, col);
	got = *word;
	if (got != want)
		tell_word(s, page, col, got, want, "a store was lost");
	state->seq[col] = seq;
	if (bounce.sabotage == SABOTAGE_STORE && col < COL_OPS && !(seq % SABOTAGE_SEQ))
		return;
	*word = store_tag(s, page, col) | seq;
}

bool page_matches(struct slot *s, size_t page, const struct page_state *state, size_t *word)
{
	volatile uint64_t *words = slot_word(s, page, 0);

	for (*word = 0; *word < PAGE_WORDS; ++*word)
		if (words[*word] != word_of(s, page, state, *word))
			return false;
	return true;
}

/* Stores that came later than those we know of. */
static bool is_later(struct slot *s, size_t page, size_t i, uint64_t got)
{
	uint64_t tag = store_tag(s, page, i);

	return (got & ~0xffffffffULL) == tag && (uint32_t)got >= s->page[page].seq[i];
}

static void check_page(struct slot *s, size_t page, bool others_write)
{
	const struct page_state *state = &s->page[page];
	volatile uint64_t *words = slot_word(s, page, 0);
	uint64_t pattern = word_of(s, page, state, NR_COLS), step = WORD_STEP;
	size_t i;

	if (state->base == BASE_ZERO)
		step = 0;
	for (i = 0; i < NR_COLS; i++) {
		uint64_t want = word_of(s, page, state, i), got = words[i];

		if (got == want)
			continue;
		if (others_write && i != COL_CHILD && is_later(s, page, i, got))
			continue;
		if (i == COL_CHILD && !others_write && page - s->child_from < s->child_nr)
			continue;
		tell_word(s, page, i, got, want, "contents");
	}
	for (; i < PAGE_WORDS; i++, pattern += step)
		if (words[i] != pattern)
			tell_word(s, page, i, words[i], pattern, "contents");
}

void slot_check(struct slot *s, size_t page, size_t nr, bool others_write)
{
	for (; nr; nr--, page++)
		if (s->page[page].prot != MAY_NOTHING)
			check_page(s, page, others_write);
}
