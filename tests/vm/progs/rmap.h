/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a process can see of its memory, before and after that memory was moved to another node: in
 * words that hold no address, no frame number and no time, so that two kernels can be compared.
 */
#ifndef MIGBATCH_TEST_RMAP_H
#define MIGBATCH_TEST_RMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "file.h"

#define PAGE_BYTES	4096UL
#define HUGE_BYTES	(2UL << 20)
#define MAX_PAGES	512

#define MPOL_MF_MOVE		(1 << 1)
#define MPOL_MF_MOVE_ALL	(1 << 2)

/* From linux/mman.h, which libc of Debian 12 has in part. */
#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT		21
#endif
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ	22
#define MADV_POPULATE_WRITE	23
#endif

enum kind { ANON, SHMEM, FILE_SHARED, FILE_PRIVATE, HUGETLB, ZERO_PAGES };

enum {
	/* move_pages(2) also moves what other processes map */
	MOVE_ALL	= 1 << 0,
	/* the VMAs must stay as they are: no looking at parts of them */
	WHOLE_VMA	= 1 << 1,
	/* permissions are part of the state: writing does not change them */
	KEEP_PROT	= 1 << 2,
	/* 2M folios stay mapped by a PMD */
	PMD_MAPPED	= 1 << 3,
	/* a race: how often something was counted says nothing */
	UNCOUNTED	= 1 << 4,
	/* every other page has the contents of the one before it */
	PAIRED		= 1 << 5,
};

struct test;

struct state {
	const char *name;
	enum kind kind;
	unsigned int sizes;	/* bits of folio_sizes[] */
	unsigned int flags;
	void (*prepare)(struct test *t);
	void (*after)(struct test *t);	/* NULL: after_write() */
	/* NULL: there and back, with a look after each */
	void (*moves)(struct test *t);
};

/* What a page should hold. Others are generations of contents, see page_fill(). */
enum { ZERO = 0, FIRST = 1, UNREADABLE = 254, ANYTHING = 255 };

struct test {
	const struct state *state;
	size_t folio;
	size_t stretch;		/* what the states halve: a folio, or some of order 0 */
	const char *size;	/* the same as text */
	unsigned char *addr;
	size_t bytes;
	size_t pages;
	unsigned char *room;	/* unused addresses, from a 2M boundary on, for 3 x 2M */
	uint8_t want[MAX_PAGES];
	int fd;
	int moved_node;
	const char *who;	/* prefix of a phase's name, of the other process */
	struct partner *partner;
	unsigned int wrong;
};

/* The page tables' view of the region. */
struct view {
	uint64_t entry[MAX_PAGES];	/* of pagemap */
	uint64_t flags[MAX_PAGES];	/* of kpageflags, 0 if not present */
	uint64_t head[MAX_PAGES];	/* first frame of the page's folio */
	uint32_t folio_pages[MAX_PAGES];	/* 0 if not present */
};

/* rmap-line.c: one line of output, and runs of equal words in it */
void line_begin(const struct test *t, const char *phase);
void line_add(const char *key, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void line_end(void);
void line_falsify(const char *key);
void run_begin(void);
void run_add(const char *format, ...) __attribute__((format(printf, 1, 2)));
void run_word(const char *word);
void run_end(const char *key);
/* All of one run: every @step-th of @nr letters. */
void run_letters(const char *key, const char *letters, size_t nr, size_t step);
/* The state cannot be had; says so and ends the process. */
void cannot(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
/* A kernel without this; the reason is shown, and the comparison counts it as skipped. */
void unsupported(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* rmap-memory.c */
extern const size_t folio_sizes[];
extern const char *const folio_names[];
extern const char scratch_file[];
void memory_alloc(struct test *t);
void memory_split_pmds(struct test *t);
void memory_fill(struct test *t);
void memory_allow(const struct test *t, bool allow);
void page_fill(const struct test *t, size_t page, uint8_t generation);
void bind_to(int node);
void pin_to_cpu(int cpu);
void populate_self(void);
size_t read_file(const char *path, char *buf, size_t size);
/* Every folio of the region goes to @node, by the address of its first page. */
void memory_move(struct test *t, int node);
void drain(void);
void settle_writeback(void);
/* Letters: . no fault, f minor, M major fault, S and B signals. */
char page_read(const struct test *t, size_t page);
char page_write(struct test *t, size_t page, uint8_t generation);
/* False when there is no such thing; the signal that it sends is expected. */
bool poison_page(unsigned char *addr);
void contents_check(struct test *t, const char *phase);
void write_pages(struct test *t, const char *phase, size_t first, size_t step, uint8_t generation);
void catch_faults(void);

/* rmap-observe.c */
void view_read(const struct test *t, struct view *v);
int page_node(const struct test *t, size_t page);
void observe_start(void);
void observe(struct test *t, const char *phase);
void line_counters(const struct test *t);
unsigned long mthp_stat(size_t folio, const char *name);

/* rmap-after.c */
void after_write(struct test *t);
void after_cow(struct test *t);
void after_swap(struct test *t);
void after_partner(struct test *t);
void after_discard(struct test *t);
void after_read_only(struct test *t);
void after_protnone(struct test *t);
void after_pinned(struct test *t);
void moves_toggle(struct test *t);
void moves_once(struct test *t);

/* rmap-partner.c: another process that has the region mapped */
void partner_start(struct test *t);
void partner_tell(struct test *t, char command);
void partner_observe(struct test *t, const char *phase);
void partner_end(struct test *t);

/* rmap-uffd.c */
void uffd_start(struct test *t, bool reads);
void uffd_writes(struct test *t, bool reads);

extern const struct state states[];

#endif /* MIGBATCH_TEST_RMAP_H */
