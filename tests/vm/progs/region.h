/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A stretch of memory with known contents, in folios of one size, that is moved between nodes. */
#ifndef MIGBATCH_TEST_REGION_H
#define MIGBATCH_TEST_REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PAGE_BYTES	4096UL
#define PAGE_WORDS	(PAGE_BYTES / sizeof(uint64_t))
/* The last words of a page belong to writers, one each. */
#define MAX_WRITERS	8
#define PATTERN_WORDS	(PAGE_WORDS - MAX_WRITERS)

struct region {
	unsigned char *addr;
	size_t bytes;
	size_t folio;		/* bytes of a folio */
	bool shmem;
	uint64_t seed;
	unsigned int writers;
	bool split;		/* the kernel split some: each page is moved by its own address */
	uint64_t *shadow;	/* what each writer's word of each page should hold */
};

struct region_move {
	uint64_t ns;		/* time in move_pages(2) */
	uint64_t bytes;		/* that were moved */
	uint64_t calls;
	uint64_t retried;	/* folios that needed another call */
	uint64_t failed;	/* folios that did not move after all */
};

uint64_t now_ns(void);

/* Maps it and faults it in on @node; false with a message on stderr when that cannot be had. */
bool region_alloc(struct region *r, int node);
void region_free(struct region *r);
void region_fill(struct region *r);
/* Number of words that are not as they should be; tells the first few. */
uint64_t region_wrong_words(const struct region *r, bool writers_stopped);
/* One call of move_pages(2) a @call_bytes; folios that stayed are tried again. */
bool region_move(struct region *r, int node, size_t call_bytes, struct region_move *m);
/* Pages that are not on @node. */
uint64_t region_elsewhere(const struct region *r, int node);
/* Folios that still have the size asked for; notes in ->split whether that is not all of them. */
uint64_t region_whole_folios(struct region *r);

#endif /* MIGBATCH_TEST_REGION_H */
