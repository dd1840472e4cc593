// SPDX-License-Identifier: GPL-2.0-or-later
/* What the kernel tells of the region, and what it counted since the last look. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rmap.h"

#define PFN_MASK	((1ULL << 55) - 1)
/* From linux/kernel-page-flags.h */
#define KPF_COMPOUND_HEAD	15
#define KPF_COMPOUND_TAIL	16

struct letter {
	unsigned int bit;
	char letter;
};

/* pagemap; bit 56 is PM_MMAP_EXCLUSIVE, which is not PageAnonExclusive */
static const struct letter map_letters[] = {
	{ 63, 'p' }, { 62, 's' }, { 55, 'd' }, { 56, 'x' }, { 57, 'u' }, { 61, 'f' }, { }
};

/*
 * kpageflags: referenced, dirty, active, anon, swap cache, swap backed, unevictable, hwpoison, KSM,
 * zero page, mlocked.
 */
static const struct letter flag_letters[] = {
	{ 2, 'r' }, { 4, 'd' }, { 6, 'a' }, { 12, 'n' }, { 13, 'c' }, { 14, 'b' }, { 18, 'u' },
	{ 19, 'h' }, { 21, 'k' }, { 24, 'z' }, { 33, 'm' }, { }
};

static uint64_t letters(const struct letter *table, uint64_t word, char *text)
{
	uint64_t mask = 0;

	for (; table->letter; table++) {
		mask |= 1ULL << table->bit;
		if (word >> table->bit & 1)
			*text++ = table->letter;
	}
	*text = '\0';
	return mask;
}

static void line_letters(const char *key, const struct letter *table, const uint64_t *words,
			 size_t nr)
{
	uint64_t mask = ~0ULL;
	char text[16] = "";
	size_t i;

	run_begin();
	for (i = 0; i < nr; i++) {
		if (!i || (words[i] ^ words[i - 1]) & mask)
			mask = letters(table, words[i], text);
		run_word(*text ? text : "-");
	}
	run_end(key);
}

/* ---- page tables and folios */

enum { MOST = HUGE_BYTES / PAGE_BYTES, WINDOW = 3 * MOST };

/* A stretch of kpageflags: a system call for each page would take most of the time. */
static struct {
	int fd;
	uint64_t start;
	uint64_t end;
	uint64_t flags[WINDOW];
} window;

static void window_load(uint64_t start, size_t nr)
{
	ssize_t len = pread(window.fd, window.flags, nr * sizeof(*window.flags),
			    start * sizeof(*window.flags));

	/* Short at the end of memory, which ends a folio as well. */
	if (len <= 0)
		cannot("cannot read kpageflags");
	window.start = start;
	window.end = start + len / sizeof(*window.flags);
}

static uint64_t flags_of(uint64_t pfn)
{
	if (pfn < window.start || pfn >= window.end)
		window_load(pfn, 64);
	return window.flags[pfn - window.start];
}

static bool is_tail(uint64_t pfn)
{
	return pfn >= window.start && pfn < window.end &&
	       flags_of(pfn) >> KPF_COMPOUND_TAIL & 1;
}

/* Finds the bounds of the folio around frame @pfn, whose largest size is that of a PMD. */
static void folio_bounds(uint64_t pfn, uint64_t *head, uint32_t *nr)
{
	uint64_t first = pfn, end = pfn + 1;

	if (flags_of(pfn) & (1ULL << KPF_COMPOUND_HEAD | 1ULL << KPF_COMPOUND_TAIL))
		window_load(pfn > MOST ? pfn - MOST : 0, WINDOW);
	while (is_tail(first))
		first--;
	while (is_tail(end))
		end++;
	*head = first;
	*nr = end - first;
}

static void view_page(struct view *v, size_t page)
{
	uint64_t pfn = v->entry[page] & PFN_MASK;
	size_t last = page - 1;

	v->folio_pages[page] = 0;
	v->head[page] = 0;
	v->flags[page] = 0;
	if (!(v->entry[page] >> 63))
		return;
	if (page && v->folio_pages[last] && pfn >= v->head[last] &&
	    pfn < v->head[last] + v->folio_pages[last]) {
		v->head[page] = v->head[last];
		v->folio_pages[page] = v->folio_pages[last];
	} else {
		folio_bounds(pfn, &v->head[page], &v->folio_pages[page]);
	}
	v->flags[page] = flags_of(pfn);
}

void view_read(const struct test *t, struct view *v)
{
	int map_fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	int flags_fd = open("/proc/kpageflags", O_RDONLY | O_CLOEXEC);
	ssize_t len = t->pages * sizeof(*v->entry);
	size_t page;

	if (map_fd < 0 || flags_fd < 0 ||
	    pread(map_fd, v->entry, len, (uintptr_t)t->addr / PAGE_BYTES * 8) != len)
		cannot("cannot read pagemap and kpageflags");
	window.fd = flags_fd;
	window.end = 0;
	for (page = 0; page < t->pages; page++)
		view_page(v, page);
	close(map_fd);
	close(flags_fd);
}

/* Pages [*page, end) are consecutive pages of one folio. */
static void run_folio(const struct test *t, const struct view *v, size_t *page)
{
	uint64_t pfn = v->entry[*page] & PFN_MASK, first = pfn - v->head[*page], last = first;
	uint32_t nr = v->folio_pages[*page];
	size_t next = *page + 1;

	while (next < t->pages && v->folio_pages[next] && v->head[next] == v->head[*page] &&
	       (v->entry[next] & PFN_MASK) == ++pfn) {
		last++;
		next++;
	}
	if (first == 0 && last == nr - 1)
		run_add("%luK", nr * PAGE_BYTES >> 10);
	else
		run_add("%luK[%lu-%lu]", nr * PAGE_BYTES >> 10, first, last);
	*page = next;
}

static void line_folios(const struct test *t, const struct view *v)
{
	size_t page = 0;

	run_begin();
	while (page < t->pages) {
		if (v->folio_pages[page]) {
			run_folio(t, v, &page);
		} else {
			run_word("-");
			page++;
		}
	}
	run_end("folios");
}

/* A negative errno when there is no page. */
int page_node(const struct test *t, size_t page)
{
	void *addr = t->addr + page * PAGE_BYTES;
	int status = 0;

	if (syscall(SYS_move_pages, 0, 1, &addr, NULL, &status, 0))
		cannot("cannot tell the node of a page");
	return status;
}

static void line_nodes(const struct test *t)
{
	static void *pages[MAX_PAGES];
	static int status[MAX_PAGES];
	char text[16] = "";
	size_t page;

	for (page = 0; page < t->pages; page++)
		pages[page] = t->addr + page * PAGE_BYTES;
	if (syscall(SYS_move_pages, 0, t->pages, pages, NULL, status, 0))
		cannot("cannot tell the nodes of pages");
	run_begin();
	for (page = 0; page < t->pages; page++) {
		if (!page || status[page] != status[page - 1])
			snprintf(text, sizeof(text), "%d", status[page]);
		run_word(text);
	}
	run_end("nodes");
}

static void line_view(const struct test *t)
{
	static struct view v;

	view_read(t, &v);
	line_letters("map", map_letters, v.entry, t->pages);
	line_letters("flags", flag_letters, v.flags, t->pages);
	line_folios(t, &v);
	line_nodes(t);
}

/* ---- smaps */

static const char *const smaps_names[] = {
	"Rss", "Pss", "Shared_Clean", "Shared_Dirty", "Private_Clean", "Private_Dirty",
	"Referenced", "Anonymous", "KSM", "LazyFree", "AnonHugePages", "ShmemPmdMapped",
	"FilePmdMapped", "Shared_Hugetlb", "Private_Hugetlb", "Swap", "SwapPss", "Locked", NULL
};

enum { NR_SMAPS = sizeof(smaps_names) / sizeof(*smaps_names) - 1, MAX_VMAS = 64 };

static unsigned long smaps[MAX_VMAS][NR_SMAPS];

static int smaps_index(const char *name, size_t len)
{
	int i;

	for (i = 0; smaps_names[i]; i++)
		if (strlen(smaps_names[i]) == len && !strncmp(name, smaps_names[i], len))
			return i;
	return -1;
}

/* Fills smaps[] with one entry a VMA of the region; returns their number. */
static unsigned int smaps_read(const struct test *t)
{
	static char text[128 << 10];
	uintptr_t low = (uintptr_t)t->addr, high = low + t->bytes;
	char *at = text, *next, *colon;
	unsigned long start, end;
	unsigned int nr = 0;
	bool ours = false;

	read_file("/proc/self/smaps", text, sizeof(text));
	for (; (next = strchr(at, '\n')); at = next + 1) {
		*next = '\0';
		if (sscanf(at, "%lx-%lx ", &start, &end) == 2) {
			ours = start < high && end > low;
			if (ours && nr == MAX_VMAS)
				cannot("too many VMAs");
			if (ours)
				memset(smaps[nr++], 0, sizeof(smaps[0]));
		} else if (ours && (colon = strchr(at, ':'))) {
			int i = smaps_index(at, colon - at);

			if (i >= 0)
				smaps[nr - 1][i] = strtoul(colon + 1, NULL, 10);
		}
	}
	return nr;
}

static void line_smaps(const struct test *t)
{
	unsigned int nr = smaps_read(t), i, field;

	line_add("vmas", "%u", nr);
	for (field = 0; field < NR_SMAPS; field++) {
		unsigned long sum = 0;
		char key[32];

		for (i = 0; i < nr; i++)
			sum += smaps[i][field];
		snprintf(key, sizeof(key), "smaps.%s", smaps_names[field]);
		if (sum)
			line_add(key, "%lu", sum);
	}
}

/*
 * The accessed and dirty bits of page table entries show in smaps alone, which sums them up by VMA.
 * So every other of 16 parts of the region becomes a VMA of its own for the time of a look, by a
 * flag that means nothing to the page tables.
 */
static void line_parts(const struct test *t)
{
	enum { PARTS = 16 };
	size_t part = t->bytes / PARTS, i;
	unsigned int nr, field;

	for (i = 0; i < PARTS; i += 2)
		madvise(t->addr + i * part, part, MADV_DONTDUMP);
	nr = smaps_read(t);
	madvise(t->addr, t->bytes, MADV_DODUMP);
	for (field = 0; field < NR_SMAPS; field++) {
		unsigned long any = 0;
		char key[32];

		run_begin();
		for (i = 0; i < nr; i++) {
			run_add("%lu", smaps[i][field]);
			any |= smaps[i][field];
		}
		snprintf(key, sizeof(key), "parts.%s", smaps_names[field]);
		if (any && strcmp(smaps_names[field], "Rss"))
			run_end(key);
	}
	line_add("vmas-after", "%u", smaps_read(t));
}

/* ---- counters */

static const char *const counter_names[] = {
	"pgmigrate_success", "pgmigrate_fail", "thp_migration_success", "thp_migration_fail",
	"thp_migration_split", "thp_split_page", "thp_split_page_failed", "thp_split_pmd",
	"thp_deferred_split_page", "unevictable_pgs_culled", "unevictable_pgs_rescued",
	"unevictable_pgs_mlocked", "unevictable_pgs_munlocked", "unevictable_pgs_cleared",
	"unevictable_pgs_stranded", "nr_mlock", "pswpout", NULL
};

static const char *const mthp_names[] = {
	"split", "split_failed", "split_deferred", "nr_anon", "nr_anon_partially_mapped", NULL
};

static const size_t mthp_sizes[] = {
	16 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20, 2 << 20, 0
};

static const char *const status_names[] = {
	"RssAnon", "RssFile", "RssShmem", "VmLck", "VmSwap", "HugetlbPages", NULL
};

enum { MAX_COUNTERS = 96 };

struct counters {
	unsigned int nr;
	char name[MAX_COUNTERS][48];
	long value[MAX_COUNTERS];
};

static struct counters last;

static void counter_add(struct counters *c, const char *name, long value)
{
	if (c->nr == MAX_COUNTERS)
		cannot("too many counters");
	snprintf(c->name[c->nr], sizeof(c->name[0]), "%s", name);
	c->value[c->nr++] = value;
}

/* The number behind the line's name, 0 without such a line. */
static long number_after(const char *text, const char *name)
{
	size_t len = strlen(name);
	const char *at = text;

	for (; at; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (!strncmp(at, name, len) && (at[len] == ' ' || at[len] == ':'))
			return strtol(at + len + 1, NULL, 10);
		if (!*at)
			break;
	}
	return 0;
}

unsigned long mthp_stat(size_t folio, const char *name)
{
	char path[128], text[32];

	snprintf(path, sizeof(path), "/sys/kernel/mm/transparent_hugepage/hugepages-%zukB/stats/%s",
		 folio >> 10, name);
	if (!read_file(path, text, sizeof(text)))
		cannot("cannot read %s", path);
	return strtoul(text, NULL, 10);
}

static void counters_read(struct counters *c)
{
	static char text[32 << 10];
	char name[48];
	int i, j;

	c->nr = 0;
	drain();
	write_file("/proc/sys/vm/stat_refresh", "1");
	read_file("/proc/vmstat", text, sizeof(text));
	for (i = 0; counter_names[i]; i++)
		counter_add(c, counter_names[i], number_after(text, counter_names[i]));
	for (i = 0; mthp_sizes[i]; i++) {
		for (j = 0; mthp_names[j]; j++) {
			snprintf(name, sizeof(name), "%zuK.%s", mthp_sizes[i] >> 10, mthp_names[j]);
			counter_add(c, name, mthp_stat(mthp_sizes[i], mthp_names[j]));
		}
	}
	read_file("/proc/self/status", text, sizeof(text));
	for (i = 0; status_names[i]; i++)
		counter_add(c, status_names[i], number_after(text, status_names[i]));
}

void observe_start(void)
{
	counters_read(&last);
}

/* What changed since the last look. */
void line_counters(const struct test *t)
{
	static struct counters now;
	unsigned int i;

	counters_read(&now);
	for (i = 0; i < now.nr; i++)
		if (now.value[i] != last.value[i] && !(t->state->flags & UNCOUNTED))
			line_add(now.name[i], "%+ld", now.value[i] - last.value[i]);
	last = now;
}

void observe(struct test *t, const char *phase)
{
	drain();
	line_begin(t, phase);
	line_view(t);
	line_smaps(t);
	if (!(t->state->flags & WHOLE_VMA))
		line_parts(t);
	line_counters(t);
	line_end();
	if (t->partner)
		partner_observe(t, phase);
}
