// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Stress of page migration. Memory of every kind and folio size bounces between two nodes by
 * move_pages(2), while threads write to it and others fork, protect, unmap, move, lock, split and
 * give it away, at random from a seed. What every word must be and every page allow is known at any
 * time, and compared: a lost store, a page in the place of another or a permission too much ends
 * the run. Prints one line of key=value pairs. Exit status: 0 all was right, 1 it was not, 2 it
 * could not run.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "bounce.h"

/* From linux/mempolicy.h, which libc does not have. */
#define MPOL_BIND	2
#define MPOL_DEFAULT	0
#define MPOL_MF_MOVE	(1 << 1)
#define MPOL_MF_MOVE_ALL (1 << 2)

/* From linux/kernel-page-flags.h */
#define KPF_COMPOUND_HEAD	15
#define KPF_COMPOUND_TAIL	16

/* Stores of a writer to one slot before it takes another. */
#define BURST		32
#define NR_OPS_THREADS	2

struct bounce bounce;

static struct {
	unsigned long seconds, folios, writers, scale;
	const char *dir;
} opts = { .seconds = 20, .writers = 2, .scale = 1, .dir = "/var/tmp" };

static const char usage_text[] =
	"usage: bounce [OPTIONS]: it ends when either is reached\n"
	"  --seconds S        at most so long (20)\n"
	"  --folios N         until so many folios were moved (0: no such bound)\n"
	"  --seed N           repeats the choices of a run, as far as threads allow (the time)\n"
	"  --writers N        threads that write, 1 to 6 (2)\n"
	"  --scale N          N times the memory, which is 29 MB (1)\n"
	"  --dir DIR          file system for the private file mapping (/var/tmp)\n"
	"  --sabotage FAULT   do wrong on purpose, which must be found: store (one is lost), protect\n"
	"                     (read-only memory is writable), dontneed (contents stay), swap (two\n"
	"                     pages are exchanged), child (it inherits something else)\n";

/* --- failures */

void bad(const char *fmt, ...)
{
	uint64_t nr = atomic_fetch_add(&bounce.wrong, 1);
	char line[512];
	va_list args;

	atomic_store(&bounce.stop, true);
	if (nr >= 10)
		return;
	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	fprintf(stderr, "bounce: seed %" PRIu64 ": %s\n", bounce.seed, line);
	if (!nr)
		ops_tell_last();
}

void cannot(const char *fmt, ...)
{
	va_list args;

	fprintf(stderr, "bounce: seed %" PRIu64 ": cannot run: ", bounce.seed);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fprintf(stderr, "\n");
	_exit(2);
}

static __thread sigjmp_buf *volatile catching;

static void on_fault(int sig, siginfo_t *info, void *context)
{
	sigjmp_buf *to = catching;

	(void)context;
	if (to) {
		catching = NULL;
		siglongjmp(*to, 1);
	}
	bad("signal %d at %p, where nothing forbids access", sig, info->si_addr);
	printf("bounce: result=bad seed=%" PRIu64 " signal=%d\n", bounce.seed, sig);
	fflush(stdout);
	_exit(1);
}

void catch_faults(void)
{
	struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER };

	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGBUS, &action, NULL);
}

bool try_load(const volatile uint64_t *addr, uint64_t *value)
{
	sigjmp_buf here;

	if (sigsetjmp(here, 0))
		return false;
	catching = &here;
	*value = *addr;
	catching = NULL;
	return true;
}

bool try_store(volatile uint64_t *addr, uint64_t value)
{
	sigjmp_buf here;

	if (sigsetjmp(here, 0))
		return false;
	catching = &here;
	*addr = value;
	catching = NULL;
	return true;
}

/* --- writers */

static void *writer_run(void *arg)
{
	unsigned int col = (uintptr_t)arg;
	struct rnd rnd = { bounce.seed * 1000 + col };
	uint32_t seq = 0;

	while (!atomic_load_explicit(&bounce.stop, memory_order_relaxed)) {
		struct slot *s = &bounce.slot[rnd_below(&rnd, bounce.nr_slots)];
		int n;

		pthread_rwlock_rdlock(&s->lock);
		for (n = 0; n < BURST; n++)
			slot_write(s, rnd_below(&rnd, s->pages), col, ++seq);
		pthread_rwlock_unlock(&s->lock);
		/* On two processors, spinning would leave nothing to those who do the harm. */
		usleep(rnd_below(&rnd, 1000));
	}
	atomic_fetch_add(&bounce.writes, seq);
	return NULL;
}

/* --- the mover */

struct mover {
	struct rnd rnd;
	size_t max, nr;
	void **addr;
	int *node, *before, *after;
	unsigned char *head;	/* 0: not there, or no folio starts here; 1: a page; 2: more */
	int map_fd, flags_fd;
	uint64_t folios, large, calls;
};

static void mover_init(struct mover *m)
{
	size_t i;

	m->rnd.state = bounce.seed * 1000 + 999;
	for (i = 0; i < bounce.nr_slots; i++)
		m->max += bounce.slot[i].pages;
	m->addr = calloc(m->max, sizeof(*m->addr));
	m->node = calloc(m->max, sizeof(*m->node));
	m->before = calloc(m->max, sizeof(*m->before));
	m->after = calloc(m->max, sizeof(*m->after));
	m->head = calloc(m->max, sizeof(*m->head));
	m->map_fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	m->flags_fd = open("/proc/kpageflags", O_RDONLY | O_CLOEXEC);
	if (!m->addr || !m->node || !m->before || !m->after || !m->head)
		cannot("out of memory");
	if (m->map_fd < 0 || m->flags_fd < 0)
		cannot("/proc/self/pagemap and /proc/kpageflags: %s", strerror(errno));
}

/* Most calls name one address a folio: a second one would end the kernel's batch. */
static void mover_add(struct mover *m, struct slot *s)
{
	size_t step = one_in(&m->rnd, 40) ? 1 : s->folio / PAGE_BYTES, page;

	s->node = !s->node;
	for (page = 0; page < s->pages; page += step) {
		m->addr[m->nr] = slot_page(s, page);
		m->node[m->nr++] = s->node;
	}
}

/* Some of the slots. An emulated processor copies slowly: seldom those whose folios are large. */
static void mover_choose(struct mover *m)
{
	size_t first = rnd_below(&m->rnd, bounce.nr_slots), i;
	size_t nr = 1 + rnd_below(&m->rnd, bounce.nr_slots);

	m->nr = 0;
	for (i = 0; i < nr; i++) {
		struct slot *s = &bounce.slot[(first + i) % bounce.nr_slots];

		if (one_in(&m->rnd, s->folio == PAGE_BYTES ? 4 : s->folio < 1 << 20 ? 1 : 6))
			mover_add(m, s);
	}
}

static unsigned char folio_head(struct mover *m, void *addr)
{
	uint64_t entry, flags;

	if (pread(m->map_fd, &entry, sizeof(entry), (uintptr_t)addr / PAGE_BYTES * 8) != 8 ||
	    !(entry >> 63))
		return 0;
	entry &= (1ULL << 55) - 1;
	if (!entry || pread(m->flags_fd, &flags, sizeof(flags), entry * 8) != 8)
		return 0;
	if (flags >> KPF_COMPOUND_TAIL & 1)
		return 0;
	return flags >> KPF_COMPOUND_HEAD & 1 ? 2 : 1;
}

/* The kernel counts pages; folios are counted here, those that were seen to change their node. */
static void mover_count(struct mover *m)
{
	size_t i;

	for (i = 0; i < m->nr; i++) {
		if (!m->head[i] || m->before[i] < 0 || m->before[i] == m->node[i] ||
		    m->after[i] != m->node[i])
			continue;
		m->folios++;
		m->large += m->head[i] == 2;
	}
}

static void mover_go(struct mover *m)
{
	/* Without ALL, folios that a child shares would stay. */
	int flags = one_in(&m->rnd, 8) ? MPOL_MF_MOVE : MPOL_MF_MOVE_ALL;
	size_t i;

	for (i = 0; i < m->nr; i++) {
		m->head[i] = folio_head(m, m->addr[i]);
		m->after[i] = -1;
	}
	if (syscall(SYS_move_pages, 0, m->nr, m->addr, NULL, m->before, 0) ||
	    syscall(SYS_move_pages, 0, m->nr, m->addr, m->node, m->after, flags) < 0)
		bad("move_pages: %s", strerror(errno));
	m->calls++;
	mover_count(m);
}

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000ULL + ts.tv_nsec / 1000000;
}

static void mover_run(struct mover *m)
{
	uint64_t end = now_ms() + opts.seconds * 1000;

	while (!atomic_load(&bounce.stop) && now_ms() < end &&
	       (!opts.folios || m->folios < opts.folios)) {
		mover_choose(m);
		if (m->nr)
			mover_go(m);
	}
	atomic_store(&bounce.stop, true);
}

/* --- the system */

static uint64_t value_in(const char *path, const char *name)
{
	FILE *f = fopen(path, "re");
	char line[256];
	uint64_t value = 0;
	size_t len = strlen(name);

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, name, len) && strchr(": ", line[len]))
			value = strtoull(line + len + 1, NULL, 10);
	if (f)
		fclose(f);
	return value;
}

/* Per-CPU lists hold pages back, and per-CPU counters their numbers. */
static uint64_t mlocked_kb(void)
{
	uint64_t dummy = value_in("/proc/sys/vm/stat_refresh", "-");

	write_file("/proc/sys/vm/drop_caches", "5");
	return dummy + value_in("/proc/meminfo", "Mlocked");
}

/*
 * All is unmapped: what still counts as locked is a miscount. It is told and no failure, since it
 * was seen on the vanilla kernel as well, now and then.
 */
static uint64_t miscounted_kb(uint64_t before)
{
	uint64_t after = 0;
	int tries;

	for (tries = 0; tries < 20; tries++) {
		after = mlocked_kb();
		if (after <= before)
			return 0;
		usleep(100000);
	}
	return after - before;
}

static void set_policy(int mode, unsigned long nodes)
{
	if (syscall(SYS_set_mempolicy, mode, nodes ? &nodes : NULL, nodes ? 8 * sizeof(nodes) : 0))
		cannot("set_mempolicy: %s", strerror(errno));
}

static void make_slots(void)
{
	static const struct {
		enum kind kind;
		size_t folio, bytes;
	} plan[] = {
		{ KIND_ANON, 4 << 10, 512 << 10 },
		{ KIND_SHMEM, 4 << 10, 512 << 10 },
		{ KIND_ANON, 64 << 10, 2 << 20 },
		{ KIND_ANON, 64 << 10, 2 << 20 },
		{ KIND_SHMEM, 64 << 10, 2 << 20 },
		{ KIND_FILE, 64 << 10, 2 << 20 },
		{ KIND_ANON, 256 << 10, 2 << 20 },
		{ KIND_SHMEM, 256 << 10, 2 << 20 },
		{ KIND_ANON, 1 << 20, 2 << 20 },
		{ KIND_SHMEM, 1 << 20, 2 << 20 },
		{ KIND_ANON, 2 << 20, 4 << 20 },
		{ KIND_ANON, 2 << 20, 4 << 20 },
		{ KIND_SHMEM, 2 << 20, 4 << 20 },
	};
	size_t nr = sizeof(plan) / sizeof(*plan), i;

	bounce.nr_slots = nr * opts.scale;
	bounce.slot = calloc(bounce.nr_slots, sizeof(*bounce.slot));
	if (!bounce.slot)
		cannot("out of memory");
	set_policy(MPOL_BIND, 1);
	for (i = 0; i < bounce.nr_slots; i++)
		slot_init(&bounce.slot[i], i, plan[i % nr].kind, plan[i % nr].folio,
			  plan[i % nr].bytes, opts.dir);
	set_policy(MPOL_DEFAULT, 0);
}

static void start(pthread_t *thread, void *(*run)(void *), uintptr_t arg)
{
	if (pthread_create(thread, NULL, run, (void *)arg))
		cannot("no more threads");
}

static void run_all(struct mover *m)
{
	pthread_t writer[MAX_WRITERS], ops[NR_OPS_THREADS];
	unsigned int i;

	for (i = 0; i < opts.writers; i++)
		start(&writer[i], writer_run, i);
	for (i = 0; i < NR_OPS_THREADS; i++)
		start(&ops[i], ops_run, bounce.seed * 1000 + 500 + i);
	mover_run(m);
	for (i = 0; i < opts.writers; i++)
		pthread_join(writer[i], NULL);
	for (i = 0; i < NR_OPS_THREADS; i++)
		pthread_join(ops[i], NULL);
	for (i = 0; i < bounce.nr_slots; i++)
		ops_finish(&bounce.slot[i]);
	for (i = 0; i < bounce.nr_slots; i++)
		slot_free(&bounce.slot[i]);
}

/* --- options and result */

static unsigned long parse_number(const char *text)
{
	char *end;
	unsigned long n = strtoul(text, &end, 0);

	if (end == text || *end)
		cannot("not a number: '%s'", text);
	return n;
}

static enum sabotage parse_sabotage(const char *text)
{
	static const char *const names[] = { "", "store", "protect", "dontneed", "swap", "child" };
	size_t i;

	for (i = 1; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(text, names[i]))
			return i;
	cannot("no such fault: '%s'", text);
}

static void parse_options(int argc, char **argv)
{
	enum { SECONDS, FOLIOS, SEED, WRITERS, SCALE, DIR, SABOTAGE };
	static const struct option longs[] = {
		{ "seconds", required_argument, NULL, SECONDS },
		{ "folios", required_argument, NULL, FOLIOS },
		{ "seed", required_argument, NULL, SEED },
		{ "writers", required_argument, NULL, WRITERS },
		{ "scale", required_argument, NULL, SCALE },
		{ "dir", required_argument, NULL, DIR },
		{ "sabotage", required_argument, NULL, SABOTAGE },
		{ }
	};
	int c;

	bounce.seed = time(NULL);
	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		switch (c) {
		case SECONDS: opts.seconds = parse_number(optarg); break;
		case FOLIOS: opts.folios = parse_number(optarg); break;
		case SEED: bounce.seed = parse_number(optarg); break;
		case WRITERS: opts.writers = parse_number(optarg); break;
		case SCALE: opts.scale = parse_number(optarg); break;
		case DIR: opts.dir = optarg; break;
		case SABOTAGE: bounce.sabotage = parse_sabotage(optarg); break;
		default: fputs(usage_text, stderr); exit(2);
		}
	}
	/* The slot's number has seven bits of each store. */
	if (optind < argc || !opts.writers || opts.writers > MAX_WRITERS || !opts.scale ||
	    opts.scale > 8 || !opts.seconds) {
		fputs(usage_text, stderr);
		exit(2);
	}
}

int main(int argc, char **argv)
{
	static const char vmstat[] = "/proc/vmstat";
	uint64_t pages, thp, locked, start_ms;
	struct mover m = { };
	char ops[512];

	parse_options(argc, argv);
	/* Before anything happens: if the kernel dies, the seed is known. */
	fprintf(stderr, "bounce: seed %" PRIu64 "\n", bounce.seed);
	catch_faults();
	locked = mlocked_kb();
	make_slots();
	mover_init(&m);
	pages = value_in(vmstat, "pgmigrate_success");
	thp = value_in(vmstat, "thp_migration_success");
	start_ms = now_ms();
	run_all(&m);
	pages = value_in(vmstat, "pgmigrate_success") - pages;
	thp = value_in(vmstat, "thp_migration_success") - thp;
	locked = miscounted_kb(locked);
	if (!m.folios || !pages)
		cannot("nothing moved");
	ops_summary(ops, sizeof(ops));
	printf("bounce: result=%s seed=%" PRIu64 " ms=%" PRIu64 " folios=%" PRIu64 " large=%" PRIu64
	       " thp=%" PRIu64 " pages=%" PRIu64 " calls=%" PRIu64 " writes=%" PRIu64
	       " refused=%" PRIu64 " freed=%" PRIu64 " children=%" PRIu64 " swap_kb=%" PRIu64
	       "%s miscounted_kb=%" PRIu64 " wrong=%" PRIu64 "\n",
	       bounce.wrong ? "bad" : "ok", bounce.seed, now_ms() - start_ms, m.folios, m.large,
	       thp, pages, m.calls, bounce.writes, bounce.refused, bounce.freed, bounce.children,
	       value_in("/proc/meminfo", "SwapTotal"), ops, locked, bounce.wrong);
	return !!bounce.wrong;
}
