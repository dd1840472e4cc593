// SPDX-License-Identifier: GPL-2.0-or-later
/* The states that memory can be in when it is moved. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "rmap.h"

#define RW (PROT_READ | PROT_WRITE)

/* The second half of each stretch: of each folio, unless it is of order 0. */
#define for_halves(t, off) for (off = (t)->stretch / 2; off < (t)->bytes; off += (t)->stretch)

static void want_halves(struct test *t, uint8_t generation)
{
	size_t half = t->stretch / 2, off;

	for_halves(t, off)
		memset(t->want + off / PAGE_BYTES, generation, half / PAGE_BYTES);
}

static void write_halves(struct test *t)
{
	size_t off, page;

	for_halves(t, off)
		for (page = off / PAGE_BYTES; page < (off + t->stretch / 2) / PAGE_BYTES; page++)
			page_write(t, page, FIRST + 1);
}

static void read_halves(struct test *t)
{
	size_t off, page;

	for_halves(t, off)
		for (page = off / PAGE_BYTES; page < (off + t->stretch / 2) / PAGE_BYTES; page++)
			page_read(t, page);
}

static void protect_halves(struct test *t, int prot)
{
	size_t off;

	for_halves(t, off)
		if (mprotect(t->addr + off, t->stretch / 2, prot))
			cannot("no mprotect: %s", strerror(errno));
}

static void advise_halves(struct test *t, int advice)
{
	size_t off;

	for_halves(t, off)
		if (madvise(t->addr + off, t->stretch / 2, advice))
			cannot("no madvise %d: %s", advice, strerror(errno));
}

static void advise_all(struct test *t, int advice)
{
	if (madvise(t->addr, t->bytes, advice))
		cannot("no madvise %d: %s", advice, strerror(errno));
}

static void clear_refs(const char *what)
{
	if (!write_file("/proc/self/clear_refs", what))
		cannot("cannot write clear_refs");
}

/*
 * clear_refs leaves the TLB alone, and a processor that still has the translation does not mark the
 * entry again. Taking away more pages than are flushed one by one flushes all.
 */
static void flush_tlb(void)
{
	size_t bytes = 256 * PAGE_BYTES;
	void *pages = mmap(NULL, bytes, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED || madvise(pages, bytes, MADV_POPULATE_WRITE) ||
	    munmap(pages, bytes))
		cannot("no flush of the TLB");
}

static void prepare_young_half(struct test *t)
{
	clear_refs("1");
	flush_tlb();
	read_halves(t);
}

static void prepare_old(struct test *t)
{
	(void)t;
	clear_refs("1");
}

static void prepare_soft_dirty(struct test *t)
{
	clear_refs("4");
	write_halves(t);
}

static void prepare_read_only(struct test *t)
{
	mprotect(t->addr, t->bytes, PROT_READ);
}

static void prepare_read_only_half(struct test *t)
{
	protect_halves(t, PROT_READ);
}

static void prepare_protnone(struct test *t)
{
	mprotect(t->addr, t->bytes, PROT_NONE);
}

static void prepare_free(struct test *t)
{
	advise_all(t, MADV_FREE);
	memset(t->want, ANYTHING, t->pages);
}

static void prepare_free_half_written(struct test *t)
{
	prepare_free(t);
	write_halves(t);
}

static void prepare_swapped_half(struct test *t)
{
	advise_halves(t, MADV_PAGEOUT);
	settle_writeback();
}

/* Entries and folios are clean then, as after a read of memory that was swapped out. */
static void prepare_swapped_in(struct test *t)
{
	size_t page;

	advise_all(t, MADV_PAGEOUT);
	settle_writeback();
	for (page = 0; page < t->pages; page++)
		page_read(t, page);
}

static void prepare_hole(struct test *t)
{
	size_t off, quarter = t->stretch / 4;

	for (off = 0; off < t->bytes; off += t->stretch) {
		madvise(t->addr + off + quarter, 2 * quarter, MADV_DONTNEED);
		memset(t->want + (off + quarter) / PAGE_BYTES, ZERO, 2 * quarter / PAGE_BYTES);
	}
}

static void prepare_unmapped_middle(struct test *t)
{
	size_t off, quarter = t->stretch / 4;

	for (off = 0; off < t->bytes; off += t->stretch) {
		munmap(t->addr + off + quarter, 2 * quarter);
		memset(t->want + (off + quarter) / PAGE_BYTES, UNREADABLE,
		       2 * quarter / PAGE_BYTES);
	}
}

static void prepare_unmapped_half(struct test *t)
{
	size_t off;

	for (off = 0; off < t->bytes; off += t->stretch) {
		munmap(t->addr + off, t->stretch / 2);
		memset(t->want + off / PAGE_BYTES, UNREADABLE, t->stretch / 2 / PAGE_BYTES);
	}
}

static void prepare_mlock(struct test *t)
{
	if (mlock(t->addr, t->bytes))
		cannot("no mlock");
}

static void prepare_mlock_half(struct test *t)
{
	size_t off;

	for_halves(t, off)
		if (mlock(t->addr + off, t->stretch / 2))
			cannot("no mlock");
}

static void prepare_vma_split(struct test *t)
{
	advise_halves(t, MADV_SEQUENTIAL);
}

/* The first half of a folio is at the end of one page table, the second half in the next one. */
static void prepare_straddle(struct test *t)
{
	unsigned char *to = t->room + HUGE_BYTES - t->stretch / 2;

	if (mremap(t->addr, t->bytes, t->bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to) != to)
		cannot("no mremap: %s", strerror(errno));
	t->addr = to;
}

static void prepare_fork(struct test *t)
{
	partner_start(t);
}

static void prepare_fork_half(struct test *t)
{
	advise_halves(t, MADV_DONTFORK);
	want_halves(t, UNREADABLE);
	partner_start(t);
	want_halves(t, FIRST);
}

static void prepare_fork_ended(struct test *t)
{
	partner_start(t);
	partner_end(t);
}

static void prepare_fork_reused(struct test *t)
{
	prepare_fork_ended(t);
	write_halves(t);
}

static void prepare_fork_copied(struct test *t)
{
	partner_start(t);
	write_halves(t);
}

static void prepare_fork_other_copied(struct test *t)
{
	partner_start(t);
	partner_tell(t, 'h');
}

static void prepare_written_half(struct test *t)
{
	write_halves(t);
}

/* A second mapping of the same pages, read only. */
static void prepare_twice(struct test *t)
{
	void *to = mmap(t->room, t->bytes, PROT_READ, MAP_SHARED | MAP_FIXED, t->fd, 0);

	if (to == MAP_FAILED || madvise(to, t->bytes, MADV_POPULATE_READ))
		cannot("no second mapping");
}

static void after_twice(struct test *t)
{
	after_write(t);
	line_begin(t, "twice");
	line_add("same", "%d", !memcmp(t->addr, t->room, t->bytes));
	line_end();
}

static void prepare_uffd_wp(struct test *t)
{
	uffd_start(t, false);
}

static void prepare_uffd_rwp(struct test *t)
{
	uffd_start(t, true);
}

static void after_uffd(struct test *t)
{
	uffd_writes(t, false);
}

static void after_uffd_rwp(struct test *t)
{
	uffd_writes(t, true);
}

static unsigned long ksm_value(const char *name)
{
	char path[64], text[32];

	snprintf(path, sizeof(path), "/sys/kernel/mm/ksm/%s", name);
	read_file(path, text, sizeof(text));
	return strtoul(text, NULL, 10);
}

/* Every other page is the same as the one before it. */
static void prepare_ksm(struct test *t)
{
	int tries = 500;

	advise_all(t, MADV_MERGEABLE);
	/* First nothing is merged: the numbers of a process that ended stay until the next scan. */
	if (!write_file("/sys/kernel/mm/ksm/run", "2") || !write_file("/sys/kernel/mm/ksm/run", "1"))
		cannot("no KSM");
	while (ksm_value("pages_sharing") < t->pages / 2 && tries--)
		usleep(20000);
	write_file("/sys/kernel/mm/ksm/run", "0");
	if (ksm_value("pages_sharing") != t->pages / 2 || ksm_value("pages_shared") != t->pages / 2)
		cannot("KSM merged %lu pages", ksm_value("pages_sharing"));
}

/* A plain reference to a page, for as long as the pipe is there. */
static void pin_page(struct test *t, size_t page)
{
	struct iovec iov = { .iov_base = t->addr + page * PAGE_BYTES, .iov_len = PAGE_BYTES };
	int pipes[2];

	if (pipe(pipes) || vmsplice(pipes[1], &iov, 1, 0) != (ssize_t)PAGE_BYTES)
		cannot("no vmsplice: %s", strerror(errno));
	close(pipes[1]);
	t->fd = pipes[0];
}

static void prepare_pinned(struct test *t)
{
	pin_page(t, 1);
}

static void poison(struct test *t, size_t page)
{
	if (!poison_page(t->addr + page * PAGE_BYTES))
		cannot("no MADV_HWPOISON: %s", strerror(errno));
	t->want[page] = UNREADABLE;
}

static void prepare_poisoned(struct test *t)
{
	poison(t, 3);
}

/* What is referenced cannot be split, so that the poisoned page stays part of its folio. */
static void prepare_poisoned_whole(struct test *t)
{
	pin_page(t, 1);
	poison(t, 3);
	close(t->fd);
	t->fd = -1;
}

#define ALL	0x1f
#define SMALL	0x1
#define SMALLEST 0x11
#define SOME	0x19
#define PMD	0x8

const struct state states[] = {
	{ "dirty", ANON, ALL, 0, NULL, NULL, NULL },
	{ "cow-later", ANON, ALL, 0, NULL, after_cow, NULL },
	{ "swap-later", ANON, ALL, 0, NULL, after_swap, NULL },
	{ "old", ANON, ALL, 0, prepare_old, NULL, NULL },
	{ "young-half", ANON, ALL, 0, prepare_young_half, NULL, NULL },
	{ "soft-dirty-half", ANON, ALL, 0, prepare_soft_dirty, NULL, NULL },
	{ "read-only", ANON, ALL, 0, prepare_read_only, after_read_only, NULL },
	{ "read-only-half", ANON, ALL, 0, prepare_read_only_half, after_read_only, NULL },
	{ "read-only-toggled", ANON, ALL, UNCOUNTED, NULL, after_read_only, moves_toggle },
	{ "protnone", ANON, ALL, 0, prepare_protnone, after_protnone, NULL },
	{ "free", ANON, ALL, 0, prepare_free, NULL, NULL },
	{ "free-discard", ANON, ALL, 0, prepare_free, after_discard, moves_once },
	{ "free-half-written", ANON, ALL, 0, prepare_free_half_written, NULL, NULL },
	{ "free-half-discard", ANON, ALL, 0, prepare_free_half_written, after_discard, moves_once },
	{ "swapped-in", ANON, ALL, 0, prepare_swapped_in, NULL, NULL },
	{ "swapped-half", ANON, ALL, 0, prepare_swapped_half, NULL, NULL },
	{ "hole", ANON, ALL, 0, prepare_hole, NULL, NULL },
	{ "unmapped-middle", ANON, ALL, KEEP_PROT, prepare_unmapped_middle, NULL, NULL },
	{ "unmapped-half", ANON, ALL, KEEP_PROT, prepare_unmapped_half, NULL, NULL },
	{ "mlock", ANON, ALL, 0, prepare_mlock, NULL, NULL },
	{ "mlock-half", ANON, ALL, 0, prepare_mlock_half, NULL, NULL },
	{ "vma-split", ANON, ALL, 0, prepare_vma_split, NULL, NULL },
	{ "straddle", ANON, ALL, 0, prepare_straddle, NULL, NULL },
	{ "straddle-swap", ANON, SOME, 0, prepare_straddle, after_swap, NULL },
	{ "fork", ANON, ALL, MOVE_ALL, prepare_fork, after_partner, NULL },
	{ "fork-not-all", ANON, SMALLEST, 0, prepare_fork, after_partner, NULL },
	{ "fork-half", ANON, ALL, MOVE_ALL, prepare_fork_half, after_partner, NULL },
	{ "fork-ended", ANON, ALL, 0, prepare_fork_ended, NULL, NULL },
	{ "fork-reused", ANON, ALL, 0, prepare_fork_reused, NULL, NULL },
	{ "fork-copied", ANON, ALL, MOVE_ALL, prepare_fork_copied, after_partner, NULL },
	{ "fork-other-copied", ANON, ALL, MOVE_ALL, prepare_fork_other_copied, NULL, NULL },
	{ "uffd-wp", ANON, ALL, KEEP_PROT, prepare_uffd_wp, after_uffd, NULL },
	{ "uffd-rwp", ANON, ALL, KEEP_PROT, prepare_uffd_rwp, after_uffd_rwp, NULL },
	{ "uffd-wp-shmem", SHMEM, ALL, KEEP_PROT, prepare_uffd_wp, after_uffd, NULL },
	{ "shmem", SHMEM, ALL, 0, NULL, NULL, NULL },
	{ "shmem-half-mapped", SHMEM, ALL, KEEP_PROT, prepare_unmapped_half, NULL, NULL },
	{ "shmem-twice", SHMEM, ALL, MOVE_ALL, prepare_twice, after_twice, NULL },
	{ "shmem-fork", SHMEM, ALL, MOVE_ALL, prepare_fork, NULL, NULL },
	{ "shmem-swap", SHMEM, SOME, 0, NULL, after_swap, NULL },
	{ "file", FILE_SHARED, ALL, 0, NULL, NULL, NULL },
	{ "file-dirty-half", FILE_SHARED, ALL, 0, prepare_written_half, NULL, NULL },
	{ "file-private-half", FILE_PRIVATE, ALL, 0, prepare_written_half, NULL, NULL },
	{ "ksm", ANON, SMALLEST, MOVE_ALL | PAIRED, prepare_ksm, NULL, NULL },
	{ "pinned", ANON, ALL, 0, prepare_pinned, after_pinned, NULL },
	{ "zero-page", ZERO_PAGES, SMALL, 0, NULL, NULL, NULL },
	{ "pmd-mapped", ANON, PMD, PMD_MAPPED | WHOLE_VMA, NULL, NULL, NULL },
	{ "hugetlb", HUGETLB, PMD, PMD_MAPPED | WHOLE_VMA, NULL, NULL, NULL },
	/* Last: 7.3 frees large folios with a poisoned page as a whole, and somebody gets it. */
	{ "poisoned", ANON, SOME, KEEP_PROT, prepare_poisoned, NULL, NULL },
	{ "poisoned-whole", ANON, SOME, KEEP_PROT, prepare_poisoned_whole, NULL, NULL },
	{ }
};
