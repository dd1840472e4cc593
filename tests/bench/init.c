// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The only program of the benchmark's guest: moves memory under one set of batch parameters after
 * the other, as /cases lists them, and prints a line of figures for each. As first process of an
 * initramfs nothing else runs beside it, so that two runs take the same instructions.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../vm/progs/region.h"
#include "../vm/progs/twin.h"

#define SETTINGS	"/sys/kernel/mm/migrate_batch/"
#define TRACING		"/sys/kernel/tracing/"
#define BATCH_END	TRACING "events/migrate_batch/mm_migrate_batch_end/enable"
#define PAGES_START	TRACING "events/migrate/mm_migrate_pages_start/enable"
#define PTE_REMOVED	TRACING "events/migrate/remove_migration_pte/enable"
#define PMD_REMOVED	TRACING "events/thp/remove_migration_pmd/enable"

/* From linux/mempolicy.h, which libc does not have. */
#define MPOL_BIND	2
#define MPOL_MF_MOVE	(1 << 1)

#define MAX_ROUNDS	16
#define MAX_SAMPLES	65536

static bool patched;
static uint64_t samples[MAX_SAMPLES];
static unsigned int nr_samples;

struct bench_case {
	char name[32];
	size_t folio;
	size_t bytes;
	unsigned int rounds;
	unsigned int channels;
	unsigned int pages;
	unsigned int depth;
	unsigned int segment;
	char how[8];
};

static void die(const char *what)
{
	printf("bench: error: %s: %s\n", what, strerror(errno));
	fflush(stdout);
	sync();
	reboot(RB_POWER_OFF);
	exit(1);
}

static bool try_write(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY | O_TRUNC);
	bool ok = fd >= 0 && write(fd, value, strlen(value)) == (ssize_t)strlen(value);

	if (fd >= 0)
		close(fd);
	return ok;
}

static void must_write(const char *path, const char *value)
{
	if (!try_write(path, value))
		die(path);
}

static void set_number(const char *path, unsigned int value)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", value);
	must_write(path, text);
}

static uint64_t read_number(const char *path)
{
	uint64_t value = 0;
	FILE *f = fopen(path, "r");

	if (!f || fscanf(f, "%" SCNu64, &value) != 1)
		die(path);
	fclose(f);
	return value;
}

static void mount_all(void)
{
	int fd;

	mkdir("/proc", 0755);
	mkdir("/sys", 0755);
	mkdir("/dev", 0755);
	mount("dev", "/dev", "devtmpfs", 0, NULL);
	fd = open("/dev/console", O_RDWR);
	dup2(fd, STDOUT_FILENO);
	dup2(fd, STDERR_FILENO);
	if (mount("proc", "/proc", "proc", 0, NULL) || mount("sys", "/sys", "sysfs", 0, NULL) ||
	    mount("tracefs", TRACING, "tracefs", 0, NULL))
		die("mount");
}

/* /modules: paths in the order of loading. */
static void load_modules(void)
{
	char path[256];
	FILE *f = fopen("/modules", "r");
	int fd;

	if (!f)
		die("/modules");
	while (fscanf(f, "%255s", path) == 1) {
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || syscall(SYS_finit_module, fd, "", 0))
			die(path);
		close(fd);
	}
	fclose(f);
}

static void prepare(void)
{
	struct twin twin;

	patched = !access(SETTINGS "default_pages", F_OK);
	if (patched) {
		must_write("/sys/kernel/dcbm/enabled", "1");
		set_number(SETTINGS "max_pages", 262144);
	}
	must_write(TRACING "buffer_size_kb", "8192");
	must_write(TRACING "trace_clock", "mono");
	if (!twin_set_mode(TWIN_FITTED) || !twin_read(&twin))
		die("the twin's clock cannot be set");
	printf("twin: insns_per_ns=%u rep_bytes=%u turn_ns=%u\n", twin.insns_per_ns,
	       twin.rep_bytes, twin.turn_ns);
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static uint64_t quantile(uint64_t *values, unsigned int nr, unsigned int percent)
{
	if (!nr)
		return 0;
	qsort(values, nr, sizeof(*values), compare);
	return values[(nr - 1) * percent / 100];
}

static void add_sample(uint64_t ns)
{
	if (ns && nr_samples < MAX_SAMPLES)
		samples[nr_samples++] = ns;
}

/* Time stamp of a line of the trace, in ns: seconds with 6 digits behind the point. */
static uint64_t line_ns(const char *line)
{
	const char *p = strchr(line, ']');
	unsigned int s, us;

	while (p && *p && sscanf(p, "%u.%6u:", &s, &us) != 2)
		p = strchr(p + 1, ' ');
	return p && *p ? s * 1000000000ULL + us * 1000ULL : 0;
}

/*
 * First-folio delays: the patched kernel tells them, batch by batch. On the vanilla one it is the
 * time from the start of a migrate_pages() call to its first folio, which is its first batch's.
 */
static void read_trace(void)
{
	char line[512], *p;
	uint64_t start = 0;
	FILE *f = fopen(TRACING "trace", "r");

	if (!f)
		die("trace");
	while (fgets(line, sizeof(line), f)) {
		p = strstr(line, "first_ns=");
		if (p)
			add_sample(strtoull(p + strlen("first_ns="), NULL, 10));
		else if (strstr(line, "mm_migrate_pages_start:"))
			start = line_ns(line);
		else if (start && (strstr(line, "remove_migration_pte:") ||
				   strstr(line, "remove_migration_pmd:"))) {
			add_sample(line_ns(line) - start);
			start = 0;
		}
	}
	fclose(f);
	must_write(TRACING "trace", "\n");
}

static void trace_first_folio(bool on)
{
	const char *value = on ? "1" : "0";

	if (patched) {
		must_write(BATCH_END, value);
	} else {
		must_write(PAGES_START, value);
		must_write(PTE_REMOVED, value);
		must_write(PMD_REMOVED, value);
	}
}

/*
 * The vanilla kernel's events cost too much to be on while throughput is taken: its delay is that
 * of one more move, of memory of its own, since 64K folios are split by a second one.
 */
static void vanilla_first_folio(const struct bench_case *c)
{
	struct region r = { .bytes = c->bytes, .folio = c->folio, .seed = 1 };
	struct region_move m = { };

	if (!region_alloc(&r, 0))
		die("no memory");
	region_fill(&r);
	trace_first_folio(true);
	region_move(&r, 1, 0, &m);
	trace_first_folio(false);
	read_trace();
	region_free(&r);
}

/* Tracing costs instructions: what is compared to a fraction of a percent goes without. */
static bool traced(const struct bench_case *c)
{
	return !strcmp(c->how, "traced");
}

static void run_move(const struct bench_case *c)
{
	struct region r = { .bytes = c->bytes, .folio = c->folio, .seed = 1 };
	uint64_t ns[MAX_ROUNDS], dma = 0, cpu = 0, wrong;
	unsigned int round;
	int node = 1;

	nr_samples = 0;
	if (patched) {
		set_number(SETTINGS "default_pages", c->pages);
		set_number(SETTINGS "default_channels", c->channels);
		set_number(SETTINGS "default_depth", c->depth);
		set_number(SETTINGS "default_segment", c->segment);
	}
	if (!region_alloc(&r, 0))
		die("no memory");
	region_fill(&r);
	for (round = 0; round < c->rounds; round++) {
		struct region_move m = { };

		if (patched) {
			dma = read_number(SETTINGS "counters/pages_dma");
			cpu = read_number(SETTINGS "counters/pages_cpu");
			trace_first_folio(traced(c));
		}
		if (!region_move(&r, node, 0, &m))
			die("memory that does not move");
		node = !node;
		ns[round] = m.ns;
		if (patched) {
			trace_first_folio(false);
			dma = read_number(SETTINGS "counters/pages_dma") - dma;
			cpu = read_number(SETTINGS "counters/pages_cpu") - cpu;
			read_trace();
		}
		region_whole_folios(&r);
		if (r.split)
			break;
	}
	wrong = region_wrong_words(&r, true);
	round = round < c->rounds ? round + 1 : round;
	region_free(&r);
	if (!patched && traced(c))
		vanilla_first_folio(c);

	printf("bench: name=%s size=%zu bytes=%zu channels=%u pages=%u rounds=%u ns=%" PRIu64
	       " depth=%u segment=%u samples=%u first_p50_ns=%" PRIu64, c->name, c->folio,
	       c->bytes, c->channels, c->pages, round, quantile(ns, round, 50), c->depth,
	       c->segment, nr_samples,
	       quantile(samples, nr_samples, 50));
	printf(" first_p99_ns=%" PRIu64 " dma_pages=%" PRIu64 " cpu_pages=%" PRIu64
	       " split=%d wrong=%" PRIu64 "\n", quantile(samples, nr_samples, 99), dma, cpu,
	       r.split, wrong);
	fflush(stdout);
	if (wrong)
		die("contents are wrong");
}

/* Each page table entry of its own, the folios as they were. */
static void map_by_ptes(const struct region *r)
{
	size_t off;

	for (off = 0; off < r->bytes; off += r->folio)
		if (mprotect(r->addr + off, PAGE_BYTES, PROT_READ) ||
		    mprotect(r->addr + off, PAGE_BYTES, PROT_READ | PROT_WRITE))
			die("mprotect");
}

static uint64_t mbind_ns(const struct region *r, int node)
{
	unsigned long mask = 1UL << node;
	uint64_t start = now_ns();

	if (syscall(SYS_mbind, r->addr, r->bytes, MPOL_BIND, &mask, 8 * sizeof(mask),
		    MPOL_MF_MOVE))
		die("mbind");
	return now_ns() - start;
}

/* mbind() of memory that is there already is the walk alone; then there and back. */
static void run_mbind(const struct bench_case *c)
{
	struct region r = { .bytes = c->bytes, .folio = c->folio, .seed = 1 };
	uint64_t walk, move;

	if (patched) {
		set_number(SETTINGS "default_pages", 0);
		set_number(SETTINGS "default_channels", 0);
	}
	if (!region_alloc(&r, 0))
		die("no memory");
	region_fill(&r);
	if (r.folio != PAGE_BYTES)
		map_by_ptes(&r);
	walk = mbind_ns(&r, 0);
	move = mbind_ns(&r, 1);
	move += mbind_ns(&r, 0);
	if (region_elsewhere(&r, 0) || region_wrong_words(&r, true))
		die("mbind did not move the memory, or not right");
	region_free(&r);
	printf("mbind: name=%s size=%zu bytes=%zu walk_ns=%" PRIu64 " move_ns=%" PRIu64 "\n",
	       c->name, c->folio, c->bytes, walk, move);
}

static void run_case(const struct bench_case *c)
{
	if (!strcmp(c->how, "mbind"))
		run_mbind(c);
	else
		run_move(c);
}

static size_t parse_size(const char *text)
{
	char *end;
	size_t n = strtoul(text, &end, 10);

	return *end == 'G' ? n << 30 : *end == 'M' ? n << 20 : *end == 'K' ? n << 10 : n;
}

int main(void)
{
	struct bench_case c;
	char line[256], size[16], bytes[16], segment[16];
	FILE *f;

	setvbuf(stdout, NULL, _IOLBF, 0);
	mount_all();
	load_modules();
	prepare();
	f = fopen("/cases", "r");
	if (!f)
		die("/cases");
	while (fgets(line, sizeof(line), f)) {
		if (line[0] == '#' || line[0] == '\n')
			continue;
		if (sscanf(line, "%31[a-zA-Z0-9_] %15s %15s %u %u %u %u %15s %7s", c.name, size,
			   bytes, &c.rounds, &c.channels, &c.pages, &c.depth, segment,
			   c.how) != 9) {
			errno = EINVAL;
			die(line);
		}
		c.segment = parse_size(segment);
		c.folio = parse_size(size);
		c.bytes = parse_size(bytes);
		c.rounds = c.rounds < MAX_ROUNDS ? c.rounds : MAX_ROUNDS;
		if (patched || !c.channels)
			run_case(&c);
	}
	printf("bench: done\n");
	fflush(stdout);
	reboot(RB_POWER_OFF);
	return 0;
}
