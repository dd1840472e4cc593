// SPDX-License-Identifier: GPL-2.0-or-later
/* What the moved memory is like to use: bits of page table entries that nothing tells directly. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "rmap.h"

/*
 * A page whose entry is writable is written without a fault. After mprotect() to read-only and back
 * that is so for pages that are known to be this process's alone (PageAnonExclusive), others fault.
 * Even pages show the first, odd pages the second.
 */
static void write_all(struct test *t, uint8_t generation)
{
	write_pages(t, "write-even", 0, 2, generation);
	if (!(t->state->flags & KEEP_PROT)) {
		mprotect(t->addr, t->bytes, PROT_READ);
		mprotect(t->addr, t->bytes, PROT_READ | PROT_WRITE);
	}
	write_pages(t, "write-odd", 1, 2, generation);
	contents_check(t, "contents");
	observe(t, "written");
}

void after_write(struct test *t)
{
	contents_check(t, "kept");
	write_all(t, FIRST + 1);
}

/* Both see their own writes alone. */
void after_cow(struct test *t)
{
	contents_check(t, "kept");
	partner_start(t);
	partner_tell(t, 'w');
	contents_check(t, "other-wrote");
	write_pages(t, "write", 0, 3, FIRST + 1);
	partner_tell(t, 'c');
	observe(t, "copied");
	partner_end(t);
	write_all(t, FIRST + 1);
}

void after_partner(struct test *t)
{
	contents_check(t, "kept");
	partner_tell(t, 'c');
	write_pages(t, "write", 0, 3, FIRST + 1);
	partner_tell(t, 'c');
	partner_tell(t, 'w');
	contents_check(t, "other-wrote");
	partner_end(t);
	write_all(t, FIRST + 1);
}

void after_swap(struct test *t)
{
	if (madvise(t->addr, t->bytes, MADV_PAGEOUT))
		cannot("no MADV_PAGEOUT");
	settle_writeback();
	observe(t, "swapped-out");
	contents_check(t, "swapped-in");
	observe(t, "back-in");
	write_all(t, FIRST + 1);
}

/* Pages that MADV_FREE left clean may be lost, the others not. */
void after_discard(struct test *t)
{
	madvise(t->addr, t->bytes, MADV_PAGEOUT);
	settle_writeback();
	observe(t, "discarded");
	contents_check(t, "after-discard");
	write_all(t, FIRST + 2);
}

void after_read_only(struct test *t)
{
	contents_check(t, "kept");
	write_pages(t, "write-denied", 0, 1, FIRST + 2);
	mprotect(t->addr, t->bytes, PROT_READ | PROT_WRITE);
	write_pages(t, "write-allowed", 0, 1, FIRST + 3);
	contents_check(t, "contents");
	observe(t, "written");
}

void after_protnone(struct test *t)
{
	static char faults[MAX_PAGES];
	size_t page;

	for (page = 0; page < t->pages; page++)
		faults[page] = page_read(t, page);
	line_begin(t, "denied");
	run_letters("faults", faults, t->pages, 1);
	line_end();
	mprotect(t->addr, t->bytes, PROT_READ | PROT_WRITE);
	after_write(t);
}

void after_pinned(struct test *t)
{
	contents_check(t, "kept");
	close(t->fd);
	t->fd = -1;
	memory_move(t, 1);
	observe(t, "unpinned");
	write_all(t, FIRST + 1);
}

void moves_once(struct test *t)
{
	memory_move(t, 1);
	observe(t, "out");
}

/* ---- permissions change while the pages move */

static atomic_bool toggle_stop;
static atomic_ulong toggles;

/* Takes write permission from half of each folio, gives it back, writes the same again. */
static void *toggle_run(void *arg)
{
	const struct test *t = arg;
	size_t half = t->stretch / 2, off;

	pin_to_cpu(1);
	while (!atomic_load(&toggle_stop)) {
		for (off = half; off < t->bytes; off += t->stretch) {
			mprotect(t->addr + off, half, PROT_READ);
			mprotect(t->addr + off, half, PROT_READ | PROT_WRITE);
			page_fill(t, off / PAGE_BYTES, FIRST);
			mprotect(t->addr + off, half, PROT_READ);
		}
		atomic_fetch_add(&toggles, 1);
	}
	return NULL;
}

/*
 * How far a move gets is a matter of luck here; in the end everything has to be where it was, in
 * single pages on a kernel that splits at the second move.
 */
void moves_toggle(struct test *t)
{
	unsigned long seen;
	pthread_t thread;
	int i;

	if (pthread_create(&thread, NULL, toggle_run, t))
		cannot("no thread");
	for (i = 0; i < 12; i++) {
		seen = atomic_load(&toggles);
		memory_move(t, !(i % 2));
		while (atomic_load(&toggles) == seen)
			usleep(100);
	}
	atomic_store(&toggle_stop, true);
	pthread_join(thread, NULL);
	memory_move(t, 1);
	memory_move(t, 0);
	observe(t, "back");
}
