/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of bounce share: slots of memory whose contents are known word by word. */
#ifndef MIGBATCH_TEST_BOUNCE_H
#define MIGBATCH_TEST_BOUNCE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "file.h"

#define PAGE_BYTES	4096UL
#define PAGE_WORDS	(PAGE_BYTES / sizeof(uint64_t))
#define HUGE_BYTES	(2UL << 20)
#define HUGE_PAGES	(HUGE_BYTES / PAGE_BYTES)

/* The first words of a page have one owner each, who alone writes them; the rest is a pattern. */
#define NR_COLS		8
#define MAX_WRITERS	6
#define COL_OPS		6
#define COL_CHILD	7

enum kind { KIND_ANON, KIND_SHMEM, KIND_FILE };
/* What the pattern of a page is. */
enum base { BASE_ZERO, BASE_FILL, BASE_FILE };
enum prot { MAY_WRITE, MAY_READ, MAY_NOTHING };

struct page_state {
	uint32_t gen;			/* which pattern */
	uint32_t seq[NR_COLS];		/* of each owner's last store, 0: none since the pattern */
	uint8_t base;
	uint8_t prot;
	bool locked;
};

/*
 * Memory of one kind and folio size. A page lies in one of two windows of addresses, `home`, which
 * is aligned to a PMD, or `away`, which mostly is not; mremap(2) moves it from one to the other.
 *
 * Writers hold the lock shared for a few stores and know, while they do, what each page must hold
 * and allow. Whatever changes that holds it alone. Migration holds nothing: it must not matter.
 */
struct slot {
	unsigned int id;
	enum kind kind;
	size_t folio;			/* bytes; as it was filled: the kernel may split it */
	size_t pages;
	int fd;
	unsigned char *home;
	unsigned char *away_area;
	unsigned char *_Atomic away;
	atomic_bool *moved;		/* which pages are away */
	struct page_state *page;
	pthread_rwlock_t lock;
	int node;			/* where the mover brings it next */
	/* A child that shares the memory writes its column of these pages now. */
	size_t child_from, child_nr;
};

struct rnd {
	uint64_t state;
};

static inline uint64_t rnd_next(struct rnd *r)
{
	r->state = r->state * 6364136223846793005ULL + 1442695040888963407ULL;
	return r->state >> 33;
}

static inline uint64_t rnd_below(struct rnd *r, uint64_t n)
{
	return rnd_next(r) % n;
}

static inline bool one_in(struct rnd *r, unsigned int n)
{
	return !rnd_below(r, n);
}

/* Faults made on purpose, to see that each would be found. */
enum sabotage { SABOTAGE_NONE, SABOTAGE_STORE, SABOTAGE_PROTECT, SABOTAGE_DONTNEED, SABOTAGE_SWAP,
		SABOTAGE_CHILD };
/* One in so many stores of writers is lost. */
#define SABOTAGE_SEQ	100

struct bounce {
	struct slot *slot;
	size_t nr_slots;
	enum sabotage sabotage;
	uint64_t seed;
	bool swap;			/* the system has some */
	atomic_bool stop;
	atomic_uint_fast64_t wrong;
	atomic_uint_fast64_t writes;
	atomic_uint_fast64_t refused;	/* stores and loads that had to fault, and did */
	atomic_uint_fast64_t freed;	/* pages that MADV_FREE really lost */
	atomic_uint_fast64_t children;
};

extern struct bounce bounce;

/* Reports something that must not be, and ends the run. */
void bad(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Something that the test needs is not there: ends the process with status 2. */
void cannot(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

void catch_faults(void);
bool try_load(const volatile uint64_t *addr, uint64_t *value);
bool try_store(volatile uint64_t *addr, uint64_t value);

/* --- bounce-slot.c */

void slot_init(struct slot *s, unsigned int id, enum kind kind, size_t folio, size_t bytes,
	       const char *dir);
void slot_free(struct slot *s);
unsigned char *slot_page(struct slot *s, size_t page);
volatile uint64_t *slot_word(struct slot *s, size_t page, size_t i);
/* What a word must be in a page of that state. */
uint64_t word_of(const struct slot *s, size_t page, const struct page_state *state, size_t i);
void slot_map(struct slot *s, size_t page, size_t nr);
/* Only folios of that size are handed out from now on. */
void set_folio_size(size_t bytes);
/* Writes a new pattern to those pages of the range that may be written. */
void slot_fill(struct slot *s, size_t page, size_t nr);
void slot_forget(struct slot *s, size_t page, size_t nr);
/* One store by the owner of @col, or the proof that none is possible. */
void slot_write(struct slot *s, size_t page, unsigned int col, uint32_t seq);
void slot_must_fault(struct slot *s, size_t page, unsigned int col);
bool page_matches(struct slot *s, size_t page, const struct page_state *state, size_t *word);
/* Compares what may be read; @others_write: owners other than the caller go on writing. */
void slot_check(struct slot *s, size_t page, size_t nr, bool others_write);

/* --- bounce-ops.c */

void *ops_run(void *seed);
void ops_finish(struct slot *s);
size_t ops_summary(char *buf, size_t size);
void ops_tell_last(void);

#endif /* MIGBATCH_TEST_BOUNCE_H */
