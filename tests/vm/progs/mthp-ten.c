// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Large anonymous folios of every size, mapped by PTEs, are moved to the other node and back ten
 * times: each must stay whole, and none may be put on the list of those to be split. What is mapped
 * in part alone is split still. Prints a line a size; exit status 0 or 1.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rmap.h"

#define ROUNDS 10

static const struct {
	size_t bytes;
	const char *name;
} sizes[] = {
	{ 16 << 10, "16K" }, { 32 << 10, "32K" }, { 64 << 10, "64K" }, { 128 << 10, "128K" },
	{ 256 << 10, "256K" }, { 512 << 10, "512K" }, { 1 << 20, "1M" }, { 2 << 20, "2M" }, { }
};

/* move_pages() is not told here: it is one line for all moves. */
static const struct state state = { .name = "mthp-ten", .kind = ANON, .flags = UNCOUNTED };

static size_t count_whole(const struct test *t)
{
	static struct view v;
	size_t whole = 0, page;

	view_read(t, &v);
	for (page = 0; page < t->pages; page += t->folio / PAGE_BYTES)
		whole += v.folio_pages[page] == t->folio / PAGE_BYTES;
	return whole;
}

static size_t count_elsewhere(const struct test *t, int node)
{
	size_t elsewhere = 0, page;

	for (page = 0; page < t->pages; page++)
		elsewhere += t->want[page] != UNREADABLE && page_node(t, page) != node;
	return elsewhere;
}

static unsigned long splits(const struct test *t)
{
	return mthp_stat(t->folio, "split");
}

/* Returns the number of pages that did not arrive. */
static size_t move_rounds(struct test *t, int rounds)
{
	size_t elsewhere = 0;
	int i;

	for (i = 0; i < 2 * rounds; i++) {
		memory_move(t, !(i % 2));
		elsewhere += count_elsewhere(t, !(i % 2));
	}
	return elsewhere;
}

static bool test_whole(struct test *t)
{
	unsigned long split = splits(t), deferred = mthp_stat(t->folio, "split_deferred");
	size_t elsewhere, whole, folios = t->bytes / t->folio;
	bool ok;

	elsewhere = move_rounds(t, ROUNDS);
	split = splits(t) - split;
	deferred = mthp_stat(t->folio, "split_deferred") - deferred;
	whole = count_whole(t);
	contents_check(t, "contents");
	ok = whole == folios && !split && !deferred && !elsewhere && !t->wrong;
	line_begin(t, "whole");
	line_add("result", "%s", ok ? "ok" : "bad");
	line_add("moves", "%d", 2 * ROUNDS);
	line_add("whole", "%zu/%zu", whole, folios);
	line_add("split", "%lu", split);
	line_add("deferred", "%lu", deferred);
	line_add("elsewhere", "%zu", elsewhere);
	line_add("wrong", "%u", t->wrong);
	line_end();
	return ok;
}

/* The second half of each folio is unmapped: keeping the folio would waste that memory. */
static bool test_partial(struct test *t)
{
	size_t half = t->folio / 2, off, elsewhere, folios = t->bytes / t->folio;
	unsigned long split = splits(t);
	bool ok;

	for (off = half; off < t->bytes; off += t->folio) {
		munmap(t->addr + off, half);
		memset(t->want + off / PAGE_BYTES, UNREADABLE, half / PAGE_BYTES);
	}
	elsewhere = move_rounds(t, 1);
	split = splits(t) - split;
	contents_check(t, "contents");
	ok = split == folios && !elsewhere && !t->wrong;
	line_begin(t, "partial");
	line_add("result", "%s", ok ? "ok" : "bad");
	line_add("split", "%lu/%zu", split, folios);
	line_add("elsewhere", "%zu", elsewhere);
	line_add("wrong", "%u", t->wrong);
	line_end();
	return ok;
}

static bool in_child(bool (*test)(struct test *t), size_t folio, const char *name)
{
	static struct test t;
	int status = -1;
	pid_t pid;

	pid = fork();
	if (!pid) {
		t = (struct test){ .state = &state, .folio = folio, .size = name, .fd = -1,
				   .who = "" };
		pin_to_cpu(0);
		catch_faults();
		line_begin(&t, "setup");
		memory_alloc(&t);
		if (count_whole(&t) != t.bytes / t.folio)
			cannot("folios of another size");
		_exit(!test(&t));
	}
	if (pid > 0)
		waitpid(pid, &status, 0);
	return !status;
}

int main(void)
{
	bool ok = true;
	int i;

	for (i = 0; sizes[i].bytes; i++) {
		ok &= in_child(test_whole, sizes[i].bytes, sizes[i].name);
		ok &= in_child(test_partial, sizes[i].bytes, sizes[i].name);
	}
	return !ok;
}
