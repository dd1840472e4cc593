// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "file.h"
#include "region.h"

/* From linux/mempolicy.h, which libc does not have. */
#define MPOL_DEFAULT	0
#define MPOL_BIND	2
#define MPOL_MF_MOVE	(1 << 1)

#define HUGE_BYTES	(2UL << 20)
/* A folio that somebody else holds for a moment does not move; that is no fault. */
#define MOVE_TRIES	20

/* From linux/kernel-page-flags.h */
#define KPF_COMPOUND_HEAD	15
#define KPF_COMPOUND_TAIL	16

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static size_t region_pages(const struct region *r)
{
	return r->bytes / PAGE_BYTES;
}

/* Every page and every word differs from its neighbours, so that no mix-up of pages goes unseen. */
static uint64_t page_pattern(uint64_t seed, uint64_t page)
{
	uint64_t x = (seed + page + 1) * 0x9e3779b97f4a7c15ULL;

	x ^= x >> 31;
	return x * 0xd6e8feb86659fd93ULL;
}

#define WORD_STEP 0x9e3779b97f4a7c15ULL

static bool sysfs_write(const char *path, const char *value)
{
	bool ok = write_file(path, value);

	if (!ok)
		fprintf(stderr, "cannot write '%s' to %s: %s\n", value, path, strerror(errno));
	return ok;
}

/* Only folios of the size asked for may be handed out, so every other size is switched off. */
static bool want_folio_size(const struct region *r)
{
	const char *file = r->shmem ? "shmem_enabled" : "enabled";
	const char *on = r->shmem ? "advise" : "madvise";
	char path[128];
	size_t size;

	if (r->folio == PAGE_BYTES)
		return true;
	for (size = 2 * PAGE_BYTES; size <= HUGE_BYTES; size *= 2) {
		snprintf(path, sizeof(path),
			 "/sys/kernel/mm/transparent_hugepage/hugepages-%zukB/%s", size >> 10, file);
		/* The smallest sizes are not there for every kind of memory. */
		if (size != r->folio && access(path, F_OK))
			continue;
		if (!sysfs_write(path, size == r->folio ? on : "never"))
			return false;
	}
	return true;
}

static void *map_aligned(const struct region *r)
{
	int fd = -1, flags = MAP_PRIVATE | MAP_ANONYMOUS;
	unsigned char *addr, *aligned;

	addr = mmap(NULL, r->bytes + HUGE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (addr == MAP_FAILED)
		return NULL;
	aligned = (void *)(((uintptr_t)addr + HUGE_BYTES - 1) & ~(HUGE_BYTES - 1));
	if (r->shmem) {
		flags = MAP_SHARED;
		fd = memfd_create("region", MFD_CLOEXEC);
		if (fd < 0 || ftruncate(fd, r->bytes))
			return NULL;
	}
	addr = mmap(aligned, r->bytes, PROT_READ | PROT_WRITE, flags | MAP_FIXED, fd, 0);
	if (fd >= 0)
		close(fd);
	return addr == MAP_FAILED ? NULL : addr;
}

static long bind_to(int node)
{
	unsigned long mask = 1UL << node;

	return syscall(SYS_set_mempolicy, MPOL_BIND, &mask, 8 * sizeof(mask));
}

bool region_alloc(struct region *r, int node)
{
	size_t off;

	if (!want_folio_size(r))
		return false;
	r->addr = map_aligned(r);
	r->shadow = calloc(region_pages(r) * (r->writers ?: 1), sizeof(*r->shadow));
	if (!r->addr || !r->shadow) {
		fprintf(stderr, "cannot map %zu bytes: %s\n", r->bytes, strerror(errno));
		return false;
	}
	madvise(r->addr, r->bytes, r->folio == PAGE_BYTES ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
	if (bind_to(node)) {
		fprintf(stderr, "cannot bind to node %d: %s\n", node, strerror(errno));
		return false;
	}
	for (off = 0; off < r->bytes; off += r->folio)
		*(volatile unsigned char *)(r->addr + off) = 0;
	syscall(SYS_set_mempolicy, MPOL_DEFAULT, NULL, 0);
	return true;
}

void region_free(struct region *r)
{
	munmap(r->addr, r->bytes);
	free(r->shadow);
	r->addr = NULL;
	r->shadow = NULL;
}

void region_fill(struct region *r)
{
	uint64_t *w = (uint64_t *)r->addr;
	size_t page, i;

	for (page = 0; page < region_pages(r); page++, w += PAGE_WORDS) {
		uint64_t v = page_pattern(r->seed, page);

		for (i = 0; i < PATTERN_WORDS; i++, v += WORD_STEP)
			w[i] = v;
		for (; i < PAGE_WORDS; i++)
			w[i] = 0;
	}
}

static void tell_wrong(uint64_t nr, size_t page, size_t word, uint64_t got, uint64_t want)
{
	if (nr < 10)
		fprintf(stderr, "page %zu word %zu: 0x%016" PRIx64 ", should be 0x%016" PRIx64 "\n",
			page, word, got, want);
}

uint64_t region_wrong_words(const struct region *r, bool writers_stopped)
{
	const uint64_t *w = (const uint64_t *)r->addr;
	uint64_t wrong = 0;
	size_t page, i;

	for (page = 0; page < region_pages(r); page++, w += PAGE_WORDS) {
		uint64_t v = page_pattern(r->seed, page);

		for (i = 0; i < PATTERN_WORDS; i++, v += WORD_STEP)
			if (w[i] != v)
				tell_wrong(wrong++, page, i, w[i], v);
		if (!writers_stopped)
			continue;
		for (i = 0; i < MAX_WRITERS; i++) {
			v = i < r->writers ? r->shadow[page * r->writers + i] : 0;
			if (w[PATTERN_WORDS + i] != v)
				tell_wrong(wrong++, page, PATTERN_WORDS + i,
					   w[PATTERN_WORDS + i], v);
		}
	}
	return wrong;
}

/* One call: @todo holds @nr addresses; those that did not move are left at its front. */
static size_t move_once(void **todo, size_t nr, const int *nodes, int *status,
			struct region_move *m)
{
	size_t i, left = 0;
	uint64_t start;
	long err;

	for (i = 0; i < nr; i++)
		status[i] = -EBUSY;	/* an early end leaves the rest of it unwritten */
	start = now_ns();
	err = syscall(SYS_move_pages, 0, nr, todo, nodes, status, MPOL_MF_MOVE);
	m->ns += now_ns() - start;
	m->calls++;
	if (err < 0) {
		fprintf(stderr, "move_pages: %s\n", strerror(errno));
		return nr;
	}
	for (i = 0; i < nr; i++)
		if (status[i] != nodes[i])
			todo[left++] = todo[i];
	return left;
}

static bool move_part(unsigned char *addr, size_t bytes, size_t step, int node,
		      struct region_move *m)
{
	size_t nr = bytes / step, left = nr, i;
	void **todo = malloc(nr * sizeof(*todo));
	int *nodes = malloc(nr * sizeof(*nodes));
	int *status = malloc(nr * sizeof(*status));
	int tries;

	if (!todo || !nodes || !status) {
		fprintf(stderr, "out of memory\n");
		exit(2);
	}
	for (i = 0; i < nr; i++) {
		todo[i] = addr + i * step;
		nodes[i] = node;
	}
	for (tries = 0; left && tries < MOVE_TRIES; tries++) {
		if (tries) {
			m->retried += left;
			usleep(1000 * tries);
		}
		left = move_once(todo, left, nodes, status, m);
	}
	m->failed += left;
	m->bytes += (nr - left) * step;
	free(todo);
	free(nodes);
	free(status);
	return !left;
}

bool region_move(struct region *r, int node, size_t call_bytes, struct region_move *m)
{
	size_t step = r->split ? PAGE_BYTES : r->folio;
	bool ok = true;
	size_t off, len;

	if (!call_bytes)
		call_bytes = r->bytes;
	for (off = 0; off < r->bytes; off += len) {
		len = r->bytes - off < call_bytes ? r->bytes - off : call_bytes;
		ok &= move_part(r->addr + off, len, step, node, m);
	}
	return ok;
}

uint64_t region_elsewhere(const struct region *r, int node)
{
	enum { CHUNK = 1024 };
	uint64_t elsewhere = 0;
	void *pages[CHUNK];
	int status[CHUNK];
	size_t page, nr, i;

	for (page = 0; page < region_pages(r); page += nr) {
		nr = region_pages(r) - page < CHUNK ? region_pages(r) - page : CHUNK;
		for (i = 0; i < nr; i++)
			pages[i] = r->addr + (page + i) * PAGE_BYTES;
		if (syscall(SYS_move_pages, 0, nr, pages, NULL, status, 0)) {
			fprintf(stderr, "move_pages (query): %s\n", strerror(errno));
			return region_pages(r);
		}
		for (i = 0; i < nr; i++)
			elsewhere += status[i] != node;
	}
	return elsewhere;
}

/* A folio is whole when its frames follow each other, a head and tails, and it ends there. */
static bool folio_is_whole(const struct region *r, int flags_fd, const uint64_t *entries)
{
	const uint64_t pfn_mask = (1ULL << 55) - 1;
	size_t nr = r->folio / PAGE_BYTES, i;
	uint64_t flags[HUGE_BYTES / PAGE_BYTES + 1] = { };
	uint64_t pfn = entries[0] & pfn_mask;

	/* Short at the end of memory, which then ends the folio as well. */
	if (!pfn || pread(flags_fd, flags, (nr + 1) * sizeof(*flags), pfn * sizeof(*flags)) <= 0)
		return false;
	for (i = 0; i <= nr; i++) {
		bool tail = flags[i] >> KPF_COMPOUND_TAIL & 1;

		if (i < nr && (entries[i] & pfn_mask) != pfn + i)
			return false;
		if (tail != (i > 0 && i < nr))
			return false;
	}
	return nr > 1 || !(flags[0] >> KPF_COMPOUND_HEAD & 1);
}

uint64_t region_whole_folios(struct region *r)
{
	int map_fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	int flags_fd = open("/proc/kpageflags", O_RDONLY | O_CLOEXEC);
	uint64_t entries[HUGE_BYTES / PAGE_BYTES], whole = 0;
	size_t len = r->folio / PAGE_BYTES * sizeof(*entries), off;

	if (map_fd < 0 || flags_fd < 0) {
		fprintf(stderr, "cannot open /proc/self/pagemap and /proc/kpageflags: %s\n",
			strerror(errno));
		return 0;
	}
	for (off = 0; off < r->bytes; off += r->folio) {
		off_t pos = ((uintptr_t)r->addr + off) / PAGE_BYTES * sizeof(*entries);

		if (pread(map_fd, entries, len, pos) == (ssize_t)len)
			whole += folio_is_whole(r, flags_fd, entries);
	}
	close(map_fd);
	close(flags_fd);
	r->split = whole * r->folio < r->bytes;
	return whole;
}
