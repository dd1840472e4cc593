// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Moves hugetlb pages to a node that has none to spare, so that the destinations are temporary
 * ones, and compares their contents. Exit status as mover's.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HUGE_BYTES	(2UL << 20)
#define HUGE_WORDS	(HUGE_BYTES / sizeof(uint64_t))
#define MPOL_MF_MOVE	(1 << 1)

static uint64_t word_of(size_t i)
{
	return (i + 1) * 0x9e3779b97f4a7c15ULL;
}

static size_t count_wrong(const uint64_t *words, size_t nr)
{
	size_t i, wrong = 0;

	for (i = 0; i < nr; i++)
		wrong += words[i] != word_of(i);
	return wrong;
}

int main(int argc, char **argv)
{
	unsigned long nr = argc == 3 ? strtoul(argv[1], NULL, 10) : 0, i;
	int node = argc == 3 ? atoi(argv[2]) : -1;
	size_t wrong, elsewhere = 0;
	void **pages;
	int *nodes, *status;
	uint64_t *words;

	if (!nr || node < 0) {
		fprintf(stderr, "usage: hugetlb PAGES NODE\n");
		return 2;
	}
	pages = calloc(nr, sizeof(*pages));
	nodes = calloc(nr, sizeof(*nodes));
	status = calloc(nr, sizeof(*status));
	words = mmap(NULL, nr * HUGE_BYTES, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	if (!pages || !nodes || !status || words == MAP_FAILED) {
		perror("hugetlb: no memory");
		return 2;
	}
	for (i = 0; i < nr * HUGE_WORDS; i++)
		words[i] = word_of(i);
	for (i = 0; i < nr; i++) {
		pages[i] = (char *)words + i * HUGE_BYTES;
		nodes[i] = node;
	}
	if (syscall(SYS_move_pages, 0, nr, pages, nodes, status, MPOL_MF_MOVE) < 0) {
		perror("hugetlb: move_pages");
		return 1;
	}
	for (i = 0; i < nr; i++)
		elsewhere += status[i] != node;
	wrong = count_wrong(words, nr * HUGE_WORDS);
	printf("hugetlb: pages=%lu elsewhere=%zu wrong=%zu\n", nr, elsewhere, wrong);
	return wrong || elsewhere;
}
