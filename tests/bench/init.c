// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The only program of the benchmark's guest: moves memory under one set of batch parameters after
 * the other, as /cases lists them, and prints a line of figures for each. As first process of an
 * initramfs nothing else runs beside it, so that two runs take the same instructions.
 *
 * When there is a file /flushes it counts TLB flushes instead: a second thread runs on the other
 * processor, so that whatever is unmapped must be flushed there as well. No time is taken then, nor
 * may it be: all processors of the twin share one instruction clock, on which the second thread
 * would slow the first. Nor may one boot do both: a processor that ran a process once stays on the
 * list of those that are told of its flushes.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
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

#define HUGE_BYTES	(2UL << 20)
#define MAX_CASES	2048
#define MAX_ROUNDS	16
#define MAX_SAMPLES	65536

/* Posted: the series up to where it is the design that was published before. */
enum kernel { VANILLA, POSTED, PATCHED };

static const char * const kernel_names[] = { "vanilla", "posted", "patched" };

static enum kernel kernel;
static bool count_flushes;
static uint64_t samples[MAX_SAMPLES];
static unsigned int nr_samples;
static struct region memory;
static size_t away;			/* bytes of it, from the start, that are on node 1 */
static atomic_bool there;

struct bench_case {
	char name[32];
	size_t folio;
	size_t bytes;
	unsigned int rounds;
	unsigned int channels;
	unsigned int pages;
	unsigned int depth;
	unsigned int segment;
	unsigned int first;
	size_t call;		/* bytes a move_pages() call, 0: all of it is one */
	char on[8];		/* vanilla or patched; empty: both, as far as they can */
	char how[8];
};

static struct bench_case cases[MAX_CASES];
static unsigned int nr_cases;

/* What the kernel counts of the whole machine, which does nothing else. */
struct counts {
	uint64_t sent;		/* rounds of remote TLB flushes */
	uint64_t received;
	uint64_t irqs;		/* of the copy engines */
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

/* The line of /proc/interrupts ends in the name of the device, which a driver may give it. */
static bool engine_line(char *line)
{
	char path[64], *name = strrchr(line, ' ');

	if (!name)
		return false;
	name[strcspn(name, "\n")] = '\0';
	snprintf(path, sizeof(path), "/sys/bus/pci/drivers/ptdma/%.32s", name + 1);
	return name[1] && !access(path, F_OK);
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("sched_setaffinity");
}

/*
 * The mover and the interrupts it waits for share a processor. Anywhere else an interrupt would be
 * late by what is left of the mover's turn, or the mover by the interrupt's: that is how processors
 * with one instruction clock take turns, and nothing that a real machine does.
 */
static void settle(void)
{
	char line[512], path[64];
	unsigned int irq;
	FILE *f = fopen("/proc/interrupts", "r");

	pin(0);
	if (!f)
		die("/proc/interrupts");
	while (fgets(line, sizeof(line), f)) {
		if (!engine_line(line) || sscanf(line, "%u:", &irq) != 1)
			continue;
		snprintf(path, sizeof(path), "/proc/irq/%u/smp_affinity_list", irq);
		must_write(path, "0");
	}
	fclose(f);
}

/* By what the build adds to the release. */
static enum kernel running_kernel(void)
{
	struct utsname u;

	if (uname(&u))
		die("uname");
	return strstr(u.release, "-posted") ? POSTED :
	       strstr(u.release, "-migbatch") ? PATCHED : VANILLA;
}

static void prepare(void)
{
	struct twin twin;

	kernel = running_kernel();
	if (kernel != VANILLA) {
		must_write("/sys/kernel/dcbm/enabled", "1");
		set_number(SETTINGS "max_pages", 262144);
	}
	settle();
	must_write(TRACING "buffer_size_kb", "8192");
	must_write(TRACING "trace_clock", "mono");
	/* Where no time is taken, the clock that costs the host least will do. */
	if (!twin_set_mode(count_flushes ? TWIN_BOOT : TWIN_FITTED) || !twin_read(&twin))
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

/* Of an even number it is between the middle ones: there and back count alike. */
static uint64_t median(uint64_t *values, unsigned int nr)
{
	uint64_t low = quantile(values, nr, 50);

	return nr && nr % 2 == 0 ? (low + values[nr / 2]) / 2 : low;
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
 * First-folio delays: our kernels tell them, batch by batch. On the vanilla one it is the
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

	if (kernel != VANILLA) {
		must_write(BATCH_END, value);
	} else {
		must_write(PAGES_START, value);
		must_write(PTE_REMOVED, value);
		must_write(PMD_REMOVED, value);
	}
}

/* Tracing costs instructions: what is compared to a fraction of a percent goes without. */
static bool plain(const struct bench_case *c)
{
	return !strcmp(c->how, "plain");
}

/* A walk of PTEs one by one lets the second move of a folio split it. */
static bool may_split(const struct bench_case *c)
{
	return c->folio > PAGE_BYTES && c->folio < HUGE_BYTES && kernel != PATCHED;
}

/*
 * Memory outlives a case: to write and to check it takes longer than to move it. It is checked when
 * it goes, all that was ever moved.
 */
static void drop_memory(void)
{
	if (!memory.addr)
		return;
	if (!count_flushes && region_wrong_words(&memory, true))
		die("contents are wrong");
	region_free(&memory);
	away = 0;
}

/* Memory on node 0 that is good for the case. Of one size it is as much as any case will need. */
static struct region memory_for(const struct bench_case *c)
{
	const struct bench_case *next;
	struct region part;

	if (memory.addr && (plain(c) || memory.split || memory.folio != c->folio ||
			    memory.bytes < c->bytes))
		drop_memory();
	if (!memory.addr) {
		memory = (struct region){ .bytes = c->bytes, .folio = c->folio, .seed = 1 };
		for (next = c; !may_split(c) && next < cases + nr_cases; next++)
			if (!strcmp(next->how, c->how) && next->folio == c->folio &&
			    next->bytes > memory.bytes && !plain(c))
				memory.bytes = next->bytes;
		if (!region_alloc(&memory, 0))
			die("no memory");
		if (!count_flushes)
			region_fill(&memory);
	}
	part = memory;
	part.bytes = c->bytes;
	return part;
}

/* Every move ends with a look at whether the folios are whole, except that a page always is. */
static uint64_t move(struct region *r, const struct bench_case *c, int node)
{
	struct region_move m = { };

	if (!region_move(r, node, c->call, &m))
		die("memory that does not move");
	if (r->folio != PAGE_BYTES)
		region_whole_folios(r);
	memory.split |= r->split;
	return m.ns;
}

static uint64_t vmstat(const char *name)
{
	char line[128];
	uint64_t value;
	size_t len = strlen(name);
	FILE *f = fopen("/proc/vmstat", "r");

	if (!f)
		die("/proc/vmstat");
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, name, len) && line[len] == ' ' &&
		    sscanf(line + len, "%" SCNu64, &value) == 1) {
			fclose(f);
			return value;
		}
	die(name);
	return 0;
}

/* One number a processor in each line. */
static uint64_t engine_irqs(void)
{
	char line[512];
	uint64_t sum = 0;
	FILE *f = fopen("/proc/interrupts", "r");

	if (!f)
		die("/proc/interrupts");
	while (fgets(line, sizeof(line), f)) {
		char *p = strchr(line, ':'), *end;

		if (!p || !engine_line(line))
			continue;
		for (p++;; p = end) {
			uint64_t n = strtoull(p, &end, 10);

			if (end == p || *end != ' ')
				break;
			sum += n;
		}
	}
	fclose(f);
	return sum;
}

static struct counts counts_now(void)
{
	return (struct counts){
		.sent = vmstat("nr_tlb_remote_flush"),
		.received = vmstat("nr_tlb_remote_flush_received"),
		.irqs = engine_irqs(),
	};
}

static struct counts counts_since(const struct counts *then)
{
	struct counts c = counts_now();

	c.sent -= then->sent;
	c.received -= then->received;
	c.irqs -= then->irqs;
	return c;
}

static void set_parameters(const struct bench_case *c)
{
	if (kernel == VANILLA)
		return;
	set_number(SETTINGS "default_pages", c->pages);
	set_number(SETTINGS "default_channels", c->channels);
	set_number(SETTINGS "default_depth", c->depth);
	set_number(SETTINGS "default_segment", c->segment);
	if (!access(SETTINGS "default_first", F_OK))
		set_number(SETTINGS "default_first", c->first);
}

/* Ends each of its turns at once, and is in user space at almost any time. */
static void *be_there(void *unused)
{
	(void)unused;
	pin(1);
	atomic_store(&there, true);
	for (;;)
		__builtin_ia32_pause();
	return NULL;
}

static void start_second_thread(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, be_there, NULL))
		die("pthread_create");
	while (!atomic_load(&there))
		usleep(1000);
}

/*
 * Counts are the same in both directions: this case may move back what the last one moved, unless
 * that would split it.
 */
static void run_flushes(const struct bench_case *c)
{
	struct region r = memory_for(c);
	struct counts then, since;
	bool back = away == c->bytes;

	if (away && !back) {
		struct region part = memory;

		part.bytes = away;
		move(&part, c, 0);
	}
	set_parameters(c);
	then = counts_now();
	move(&r, c, !back);
	since = counts_since(&then);
	away = back ? 0 : c->bytes;
	printf("flushes: name=%s bytes=%zu sent=%" PRIu64 " received=%" PRIu64 " irqs=%" PRIu64
	       "\n", c->name, c->bytes, since.sent, since.received, since.irqs);
	if (may_split(c))
		drop_memory();
}

/*
 * The vanilla kernel's events cost too much to be on while throughput is taken: its delay is that
 * of one more move.
 */
static void vanilla_first_folio(const struct bench_case *c)
{
	struct region r = memory_for(c);

	trace_first_folio(true);
	move(&r, c, 1);
	trace_first_folio(false);
	read_trace();
	if (!memory.split)
		move(&r, c, 0);
}

static void run_move(const struct bench_case *c)
{
	struct region r = memory_for(c);
	uint64_t ns[MAX_ROUNDS], call_first[MAX_ROUNDS], dma = 0, cpu = 0, irqs = 0, sent = 0;
	unsigned int round, nr_calls = 0;

	nr_samples = 0;
	set_parameters(c);
	for (round = 0; round < c->rounds && !memory.split; round++) {
		unsigned int before = nr_samples;
		struct counts then;

		if (kernel != VANILLA) {
			dma = read_number(SETTINGS "counters/pages_dma");
			cpu = read_number(SETTINGS "counters/pages_cpu");
			trace_first_folio(!plain(c));
		}
		then = counts_now();
		ns[round] = move(&r, c, !(round % 2));
		then = counts_since(&then);
		irqs += then.irqs;
		sent += then.sent;
		if (kernel != VANILLA) {
			trace_first_folio(false);
			dma = read_number(SETTINGS "counters/pages_dma") - dma;
			cpu = read_number(SETTINGS "counters/pages_cpu") - cpu;
			read_trace();
		}
		if (nr_samples > before)
			call_first[nr_calls++] = samples[before];
	}
	if (round % 2 && !memory.split)
		move(&r, c, 0);
	if (kernel == VANILLA && !plain(c)) {
		vanilla_first_folio(c);
		if (nr_samples)
			call_first[nr_calls++] = samples[0];
	}

	printf("bench: name=%s size=%zu bytes=%zu channels=%u pages=%u rounds=%u ns=%" PRIu64
	       " depth=%u segment=%u first=%u call=%zu how=%s samples=%u call_first_ns=%" PRIu64,
	       c->name, c->folio, c->bytes, c->channels, c->pages, round, median(ns, round),
	       c->depth, c->segment, c->first, c->call, c->how, nr_samples,
	       quantile(call_first, nr_calls, 50));
	printf(" first_p50_ns=%" PRIu64, quantile(samples, nr_samples, 50));
	printf(" first_p99_ns=%" PRIu64 " dma_pages=%" PRIu64 " cpu_pages=%" PRIu64 " irqs=%" PRIu64
	       " sent=%" PRIu64 " split=%d\n", quantile(samples, nr_samples, 99), dma, cpu,
	       irqs / round, sent / round, r.split);
	fflush(stdout);
	if (plain(c))
		drop_memory();
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

	drop_memory();
	set_parameters(c);
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
	if (c->first && access(SETTINGS "default_first", F_OK))
		printf("skipped: name=%s why=no_default_first\n", c->name);
	else if (!strcmp(c->how, "mbind"))
		run_mbind(c);
	else if (count_flushes)
		run_flushes(c);
	else
		run_move(c);
}

static size_t parse_size(const char *text)
{
	char *end;
	size_t n = strtoul(text, &end, 10);

	return *end == 'G' ? n << 30 : *end == 'M' ? n << 20 : *end == 'K' ? n << 10 : n;
}

/* The words after the columns: NAME=VALUE. */
static bool parse_option(struct bench_case *c, const char *word)
{
	char text[16];

	if (sscanf(word, "first=%u", &c->first) == 1)
		return true;
	if (sscanf(word, "call=%15s", text) == 1)
		return (c->call = parse_size(text));
	return sscanf(word, "on=%7s", c->on) == 1;
}

static bool parse_case(struct bench_case *c, char *line)
{
	char size[16], bytes[16], segment[16], *word;
	int end;

	if (sscanf(line, "%31[a-zA-Z0-9_] %15s %15s %u %u %u %u %15s %7s%n", c->name, size, bytes,
		   &c->rounds, &c->channels, &c->pages, &c->depth, segment, c->how, &end) != 9)
		return false;
	c->segment = parse_size(segment);
	c->folio = parse_size(size);
	c->bytes = parse_size(bytes);
	if (!c->folio || !c->bytes || c->bytes % c->folio || !c->rounds || c->rounds > MAX_ROUNDS)
		return false;
	for (word = strtok(line + end, " \t\n"); word; word = strtok(NULL, " \t\n"))
		if (!parse_option(c, word))
			return false;
	return true;
}

static bool for_this_kernel(const struct bench_case *c)
{
	if (kernel == POSTED || !strcmp(c->how, "posted"))
		return kernel == POSTED && !strcmp(c->how, "posted");
	if (*c->on)
		return !strcmp(c->on, kernel_names[kernel]);
	return kernel == PATCHED || !c->channels;
}

static void read_cases(void)
{
	char line[256];
	FILE *f = fopen("/cases", "r");

	if (!f)
		die("/cases");
	while (fgets(line, sizeof(line), f)) {
		struct bench_case *c = &cases[nr_cases];

		if (line[0] == '#' || line[0] == '\n')
			continue;
		if (nr_cases == MAX_CASES || !parse_case(c, line)) {
			errno = EINVAL;
			die(line);
		}
		if (!for_this_kernel(c) || (count_flushes && !strcmp(c->how, "mbind")))
			memset(c, 0, sizeof(*c));
		else
			nr_cases++;
	}
	fclose(f);
}

int main(void)
{
	unsigned int i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	/* To give memory back costs a flush, which is not what is counted. */
	mallopt(M_MMAP_THRESHOLD, 32 << 20);
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
	mount_all();
	load_modules();
	count_flushes = !access("/flushes", F_OK);
	prepare();
	read_cases();
	if (count_flushes)
		start_second_thread();
	for (i = 0; i < nr_cases; i++)
		run_case(&cases[i]);
	drop_memory();
	printf("bench: done\n");
	fflush(stdout);
	reboot(RB_POWER_OFF);
	return 0;
}
