// SPDX-License-Identifier: GPL-2.0-or-later
/* The region: folios of the wanted size on node 0, known contents, moves, reads, writes. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rmap.h"

#define MPOL_DEFAULT	0
#define MPOL_BIND	2
#define PAGE_WORDS	(PAGE_BYTES / sizeof(uint64_t))

const size_t folio_sizes[] = { 64 << 10, 256 << 10, 1 << 20, 2 << 20, 4 << 10, 0 };
const char *const folio_names[] = { "64K", "256K", "1M", "2M", "4K" };
const char scratch_file[] = "/var/tmp/rmap.data";

/* 0 when it cannot be read. */
size_t read_file(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t n;

	while (fd >= 0 && (n = read(fd, buf + len, size - 1 - len)) > 0)
		len += n;
	if (fd >= 0)
		close(fd);
	buf[len] = '\0';
	return len;
}

void bind_to(int node)
{
	unsigned long mask = node < 0 ? 0 : 1UL << node;

	if (node < 0)
		syscall(SYS_set_mempolicy, MPOL_DEFAULT, NULL, 0);
	else if (syscall(SYS_set_mempolicy, MPOL_BIND, &mask, 8 * sizeof(mask)))
		cannot("no node %d", node);
}

void pin_to_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		cannot("no processor %d", cpu);
}

/* What this process itself needs is there from now on: no fault of its own is counted later. */
void populate_self(void)
{
	static char maps[16384];
	char *at = maps, *next;
	unsigned long start, end;
	char prot[5];

	read_file("/proc/self/maps", maps, sizeof(maps));
	for (; (next = strchr(at, '\n')); at = next + 1) {
		if (sscanf(at, "%lx-%lx %4s", &start, &end, prot) != 3 || prot[0] != 'r')
			continue;
		madvise((void *)start, end - start,
			prot[1] == 'w' ? MADV_POPULATE_WRITE : MADV_POPULATE_READ);
	}
}

/* A call that moves nothing empties the batches of every processor, which hold references. */
void drain(void)
{
	void *page = NULL;
	int node = 0, status = 0;

	syscall(SYS_move_pages, 0, 0, &page, &node, &status, MPOL_MF_MOVE);
}

void settle_writeback(void)
{
	static char text[16384];
	int tries;

	for (tries = 0; tries < 500; tries++) {
		write_file("/proc/sys/vm/stat_refresh", "1");
		read_file("/proc/vmstat", text, sizeof(text));
		if (strstr(text, "\nnr_writeback 0\n"))
			return;
		usleep(10000);
	}
	cannot("pages stay under writeback");
}

/*
 * Only folios of the size asked for may be handed out, and none at all once the region is there:
 * neither by a later fault nor by khugepaged, which is idle while no size of PMDs is allowed.
 */
void memory_allow(const struct test *t, bool allow)
{
	const char *file = t->state->kind == SHMEM ? "shmem_enabled" : "enabled";
	const char *yes = t->state->kind == SHMEM ? "advise" : "madvise";
	char path[128];

	if (t->folio == PAGE_BYTES)
		return;
	snprintf(path, sizeof(path), "/sys/kernel/mm/transparent_hugepage/hugepages-%zukB/%s",
		 t->folio >> 10, file);
	if (!write_file(path, allow ? yes : "never"))
		cannot("cannot write %s", path);
}

/* Every page, word and generation differs, so that no mix-up goes unseen. */
static uint64_t page_seed(const struct test *t, size_t page, uint8_t generation)
{
	uint64_t x;

	if (t->state->flags & PAIRED && generation == FIRST)
		page &= ~1UL;
	x = (generation * 65536ULL + page + 1) * 0x9e3779b97f4a7c15ULL;
	x ^= x >> 31;
	return x * 0xd6e8feb86659fd93ULL;
}

#define WORD_STEP 0x9e3779b97f4a7c15ULL

void page_fill(const struct test *t, size_t page, uint8_t generation)
{
	uint64_t *w = (uint64_t *)(t->addr + page * PAGE_BYTES);
	uint64_t v = page_seed(t, page, generation);
	size_t i;

	for (i = 0; i < PAGE_WORDS; i++, v += WORD_STEP)
		w[i] = v;
}

static bool page_holds(const struct test *t, size_t page, uint8_t generation)
{
	const uint64_t *w = (const uint64_t *)(t->addr + page * PAGE_BYTES);
	uint64_t v = generation == ZERO ? 0 : page_seed(t, page, generation);
	uint64_t step = generation == ZERO ? 0 : WORD_STEP;
	size_t i;

	for (i = 0; i < PAGE_WORDS; i++, v += step)
		if (w[i] != v)
			return false;
	return true;
}

void memory_fill(struct test *t)
{
	size_t page;

	for (page = 0; page < t->pages; page++) {
		page_fill(t, page, FIRST);
		t->want[page] = FIRST;
	}
}

/* Each write() makes one folio of its length, if the file system has such. */
static void file_create(struct test *t)
{
	unsigned char *chunk = mmap(NULL, t->folio, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct test copy = *t;
	size_t off, page;

	if (chunk == MAP_FAILED)
		cannot("no memory");
	t->fd = open(scratch_file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (t->fd < 0 || unlink(scratch_file))
		cannot("no file %s", scratch_file);
	for (off = 0; off < t->bytes; off += t->folio) {
		copy.addr = chunk - off;
		for (page = 0; page < t->folio / PAGE_BYTES; page++)
			page_fill(&copy, off / PAGE_BYTES + page, FIRST);
		if (write(t->fd, chunk, t->folio) != (ssize_t)t->folio)
			cannot("cannot write %s", scratch_file);
	}
	if (fsync(t->fd))
		cannot("cannot write %s", scratch_file);
	munmap(chunk, t->folio);
}

static int map_flags(struct test *t)
{
	switch (t->state->kind) {
	case SHMEM:
		t->fd = memfd_create("rmap", MFD_CLOEXEC);
		if (t->fd < 0 || ftruncate(t->fd, t->bytes))
			cannot("no memfd");
		return MAP_SHARED;
	case FILE_SHARED:
		file_create(t);
		return MAP_SHARED;
	case FILE_PRIVATE:
		file_create(t);
		return MAP_PRIVATE;
	case HUGETLB:
		return MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB;
	default:
		return MAP_PRIVATE | MAP_ANONYMOUS;
	}
}

/* The region starts at a 2M boundary; behind it are 2M of nothing, and then ->room. */
static void map_region(struct test *t)
{
	int flags = map_flags(t);
	unsigned char *addr;

	addr = mmap(NULL, 8 * HUGE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		    -1, 0);
	if (addr == MAP_FAILED)
		cannot("no addresses");
	addr = (void *)(((uintptr_t)addr + HUGE_BYTES - 1) & ~(HUGE_BYTES - 1));
	t->addr = mmap(addr, t->bytes, PROT_READ | PROT_WRITE, flags | MAP_FIXED, t->fd, 0);
	if (t->addr == MAP_FAILED)
		cannot("cannot map: %s", strerror(errno));
	t->room = addr + 3 * HUGE_BYTES;
}

/*
 * A page in a VMA of its own has the folio around it mapped by PTEs. That of a file is taken out of
 * the page table instead, and must come back before the VMAs are one again.
 */
void memory_split_pmds(struct test *t)
{
	size_t off;

	for (off = 0; off < t->bytes; off += HUGE_BYTES)
		madvise(t->addr + off, PAGE_BYTES, MADV_DONTDUMP);
	if (t->state->kind != ANON && madvise(t->addr, t->bytes, MADV_POPULATE_READ))
		cannot("cannot populate");
	for (off = 0; off < t->bytes; off += HUGE_BYTES)
		madvise(t->addr + off, PAGE_BYTES, MADV_DODUMP);
}

static void fault_in(struct test *t)
{
	volatile unsigned char *byte = t->addr;
	size_t off;

	if (t->state->kind == FILE_SHARED || t->state->kind == FILE_PRIVATE) {
		if (madvise(t->addr, t->bytes, MADV_POPULATE_READ))
			cannot("cannot populate");
		memset(t->want, FIRST, t->pages);
		return;
	}
	if (t->state->kind == ZERO_PAGES) {
		for (off = 0; off < t->bytes; off += PAGE_BYTES)
			(void)byte[off];
		return;
	}
	for (off = 0; off < t->bytes; off += t->folio)
		byte[off] = 0;
	memory_fill(t);
}

void memory_alloc(struct test *t)
{
	/* Order 0 is moved in runs: what halves and quarters are of is half a run there. */
	t->stretch = t->folio == PAGE_BYTES ? 16 * PAGE_BYTES : t->folio;
	/* A batch is of several folios, but large ones take long to look at, page by page. */
	t->bytes = t->stretch < 256 << 10 ? 256 << 10 :
		   t->stretch < 1 << 20 ? 2 * t->stretch : t->stretch;
	t->pages = t->bytes / PAGE_BYTES;
	bind_to(0);
	map_region(t);
	if (t->state->kind == ZERO_PAGES || t->folio == PAGE_BYTES) {
		madvise(t->addr, t->bytes, MADV_NOHUGEPAGE);
		fault_in(t);
	} else if (t->state->kind == HUGETLB) {
		fault_in(t);
	} else {
		memory_allow(t, true);
		madvise(t->addr, t->bytes, MADV_HUGEPAGE);
		fault_in(t);
		memory_allow(t, false);
		if (t->folio == HUGE_BYTES && !(t->state->flags & PMD_MAPPED))
			memory_split_pmds(t);
	}
	bind_to(-1);
	drain();
}

/* ---- moving */

/* One address for each stretch of pages of one folio, or of none. */
static size_t collect(const struct test *t, void **pages)
{
	static struct view v;
	size_t page, nr = 0;

	view_read(t, &v);
	for (page = 0; page < t->pages; page++)
		if (!page || !v.folio_pages[page] != !v.folio_pages[page - 1] ||
		    v.head[page] != v.head[page - 1])
			pages[nr++] = t->addr + page * PAGE_BYTES;
	return nr;
}

void memory_move(struct test *t, int node)
{
	static void *pages[MAX_PAGES];
	static int nodes[MAX_PAGES], status[MAX_PAGES];
	size_t nr = collect(t, pages), i;
	long err;

	for (i = 0; i < nr; i++) {
		nodes[i] = node;
		status[i] = -EIO;	/* which move_pages() does not give: it was not written */
	}
	err = syscall(SYS_move_pages, 0, nr, pages, nodes, status,
		      t->state->flags & MOVE_ALL ? MPOL_MF_MOVE_ALL : MPOL_MF_MOVE);
	if (t->state->flags & UNCOUNTED)
		return;
	line_begin(t, node ? "move-out" : "move-back");
	line_add("result", "%ld", err < 0 ? -errno : err);
	run_begin();
	for (i = 0; i < nr; i++)
		run_add("%d", status[i]);
	run_end("status");
	line_end();
}

/* ---- reading and writing */

static sigjmp_buf fault_jump;
static volatile sig_atomic_t fault_expected;

static void on_fault(int sig)
{
	if (!fault_expected)
		_exit(128 + sig);
	siglongjmp(fault_jump, sig);
}

void catch_faults(void)
{
	struct sigaction act = { .sa_handler = on_fault, .sa_flags = SA_NODEFER };

	sigaction(SIGSEGV, &act, NULL);
	sigaction(SIGBUS, &act, NULL);
}

/* Reads the byte, or writes @value to it if that is not negative. */
static char access_byte(const unsigned char *addr, int value)
{
	struct rusage before, after;
	volatile unsigned char *byte = (unsigned char *)addr;
	int sig;

	sig = sigsetjmp(fault_jump, 0);
	if (sig) {
		fault_expected = 0;
		return sig == SIGSEGV ? 'S' : 'B';
	}
	fault_expected = 1;
	getrusage(RUSAGE_THREAD, &before);
	if (value < 0)
		(void)*byte;
	else
		*byte = value;
	getrusage(RUSAGE_THREAD, &after);
	fault_expected = 0;
	if (after.ru_majflt != before.ru_majflt)
		return 'M';
	return after.ru_minflt != before.ru_minflt ? 'f' : '.';
}

bool poison_page(unsigned char *addr)
{
	volatile int err = 0;

	if (!sigsetjmp(fault_jump, 0)) {
		fault_expected = 1;
		err = madvise(addr, PAGE_BYTES, MADV_HWPOISON);
	}
	fault_expected = 0;
	return !err;
}

char page_read(const struct test *t, size_t page)
{
	return access_byte(t->addr + page * PAGE_BYTES, -1);
}

char page_write(struct test *t, size_t page, uint8_t generation)
{
	char letter = access_byte(t->addr + page * PAGE_BYTES, 0);

	if (letter == 'S' || letter == 'B')
		return letter;
	page_fill(t, page, generation);
	t->want[page] = generation;
	return letter;
}

static char content_letter(const struct test *t, size_t page)
{
	uint8_t generation;

	for (generation = ZERO; generation < FIRST + 4; generation++)
		if (page_holds(t, page, generation))
			return generation == ZERO ? 'z' : 'a' + generation - FIRST;
	return '!';
}

static bool content_is_wrong(const struct test *t, size_t page, char letter, bool readable)
{
	if (t->want[page] == UNREADABLE)
		return readable;
	if (t->want[page] == ANYTHING)
		return letter == '!';
	return !readable || !page_holds(t, page, t->want[page]);
}

/* Every byte against what was written last. Letters: a the first contents, b..., z zeroes. */
void contents_check(struct test *t, const char *phase)
{
	static char faults[MAX_PAGES], letters[MAX_PAGES];
	unsigned int wrong = 0;
	size_t page;

	for (page = 0; page < t->pages; page++) {
		bool readable;

		faults[page] = page_read(t, page);
		readable = faults[page] != 'S' && faults[page] != 'B';
		letters[page] = readable ? content_letter(t, page) : '-';
		wrong += content_is_wrong(t, page, letters[page], readable);
	}
	line_begin(t, phase);
	run_letters("faults", faults, t->pages, 1);
	run_letters("contents", letters, t->pages, 1);
	line_add("wrong", "%u", wrong);
	line_end();
	t->wrong += wrong;
}

void write_pages(struct test *t, const char *phase, size_t first, size_t step, uint8_t generation)
{
	static char faults[MAX_PAGES];
	size_t page;

	for (page = first; page < t->pages; page += step)
		faults[page] = page_write(t, page, generation);
	line_begin(t, phase);
	run_letters("faults", faults + first, t->pages - first, step);
	line_end();
}
