// SPDX-License-Identifier: GPL-2.0-or-later
/* Pages that userfaultfd protects: who touches them causes an event, and for no other page. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rmap.h"

/* Of Linux 7.3; headers of Debian 12 do not have them. */
#define FEATURE_RWP		(1ULL << 17)
#define REGISTER_MODE_RWP	(1ULL << 3)
#define FEATURE_WP_SHMEM	(1ULL << 12)
#define IOCTL_RWPROTECT		_IOWR(UFFDIO, 0x09, struct uffdio_writeprotect)

static int uffd = -1;
static bool protects_reads;
static unsigned char events[MAX_PAGES];

static void protect(const unsigned char *addr, size_t bytes, bool on)
{
	struct uffdio_writeprotect wp = {
		.range = { .start = (uintptr_t)addr, .len = bytes },
		.mode = on ? UFFDIO_WRITEPROTECT_MODE_WP : 0,
	};
	/* The value of the mode is the same for both. */
	unsigned long request = protects_reads ? IOCTL_RWPROTECT : UFFDIO_WRITEPROTECT;

	while (ioctl(uffd, request, &wp))
		if (errno != EAGAIN)
			cannot("cannot protect: %s", strerror(errno));
}

static void *answer_events(void *arg)
{
	const struct test *t = arg;
	struct uffd_msg msg;

	pin_to_cpu(1);
	while (read(uffd, &msg, sizeof(msg)) == sizeof(msg)) {
		unsigned char *addr = (void *)(uintptr_t)(msg.arg.pagefault.address & -PAGE_BYTES);

		if (msg.event != UFFD_EVENT_PAGEFAULT || addr < t->addr ||
		    addr >= t->addr + t->bytes)
			continue;
		events[(addr - t->addr) / PAGE_BYTES]++;
		protect(addr, PAGE_BYTES, false);
	}
	return NULL;
}

static unsigned long long need(const struct test *t, bool reads)
{
	if (reads)
		return FEATURE_RWP;
	if (t->state->kind == SHMEM)
		return FEATURE_WP_SHMEM;
	return UFFD_FEATURE_PAGEFAULT_FLAG_WP;
}

static bool has_features(unsigned long long features)
{
	struct uffdio_api api = { .api = UFFD_API, .features = features };

	uffd = syscall(SYS_userfaultfd, O_CLOEXEC);
	if (uffd < 0)
		cannot("no userfaultfd");
	return !ioctl(uffd, UFFDIO_API, &api);
}

/* Protects the second half of each folio. */
void uffd_start(struct test *t, bool reads)
{
	struct uffdio_register reg = {
		.range = { .start = (uintptr_t)t->addr, .len = t->bytes },
		.mode = reads ? REGISTER_MODE_RWP : UFFDIO_REGISTER_MODE_WP,
	};
	size_t half = t->stretch / 2, off;
	pthread_t thread;

	protects_reads = reads;
	if (!has_features(need(t, reads)))
		unsupported("the kernel's userfaultfd lacks this");
	if (ioctl(uffd, UFFDIO_REGISTER, &reg))
		cannot("cannot register: %s", strerror(errno));
	for (off = half; off < t->bytes; off += t->stretch)
		protect(t->addr + off, half, true);
	if (pthread_create(&thread, NULL, answer_events, t))
		cannot("no thread");
	/* The thread's stack and what it calls are not to be counted later. */
	usleep(1000);
	populate_self();
}

static void line_events(const struct test *t, const char *phase)
{
	size_t page;

	line_begin(t, phase);
	run_begin();
	for (page = 0; page < t->pages; page++)
		run_add("%u", events[page]);
	run_end("events");
	line_end();
	memset(events, 0, sizeof(events));
}

void uffd_writes(struct test *t, bool reads)
{
	size_t page;

	if (reads)
		for (page = 0; page < t->pages; page += 2)
			page_read(t, page);
	line_events(t, "events-reading");
	write_pages(t, "write", 0, 1, FIRST + 1);
	line_events(t, "events-writing");
	contents_check(t, "contents");
	observe(t, "written");
}
