// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Moves memory of known contents back and forth between two nodes with move_pages(2), while threads
 * may go on writing to it, and proves afterwards that nothing was lost. Prints one line of
 * key=value pairs. Exit status: 0 all was right, 1 contents, node or folio size was not, 2 it could
 * not run.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "region.h"

static struct {
	struct region region;
	int nodes[2];
	unsigned long rounds;
	unsigned long seconds;
	unsigned long pause_ms;
	size_t call_bytes;
	bool keep_size;
	bool may_stay;
	bool verify_each;
	const char *report;
	const char *turn;
} opts = {
	.region = { .bytes = 64 << 20, .folio = PAGE_BYTES, .seed = 1 },
	.nodes = { 0, 1 },
	.rounds = 2,
	.verify_each = true,
};

static const char usage_text[] =
	"usage: mover [OPTIONS]\n"
	"  --size N[K|M]      folio size, a power of two from 4K to 2M (4K)\n"
	"  --kind anon|shmem  kind of memory\n"
	"  --bytes N[K|M|G]   how much\n"
	"  --from N, --to N   the two nodes (0 and 1)\n"
	"  --rounds N         moves, each to the other node (2); 0: until --seconds or SIGTERM\n"
	"  --seconds S        stop after the round in which S seconds are over\n"
	"  --pause-ms MS      rest between two rounds\n"
	"  --call N[K|M|G]    memory a move_pages(2) call (all)\n"
	"  --writers N        threads that write meanwhile, at most 8\n"
	"  --seed N           of the contents\n"
	"  --may-stay         pages that do not move are counted, but are no failure\n"
	"  --keep-size        fail when a folio was split\n"
	"  --verify-last      compare contents after the last round only\n"
	"  --turn FILE        movers of one FILE move one at a time\n"
	"  --report FILE      the result line goes there as well\n";

static atomic_bool stop_writers;
static volatile sig_atomic_t stop_asked;

struct writer {
	pthread_t thread;
	unsigned int id;
	uint64_t writes;
	uint64_t wrong;
};

/* The word that a writer finds must be the one that it wrote last. */
static void *writer_run(void *arg)
{
	struct region *r = &opts.region;
	struct writer *self = arg;
	size_t pages = r->bytes / PAGE_BYTES;
	uint64_t rnd = self->id + 1;

	while (!atomic_load_explicit(&stop_writers, memory_order_relaxed)) {
		volatile uint64_t *word;
		uint64_t *shadow;
		size_t page;

		rnd = rnd * 6364136223846793005ULL + 1442695040888963407ULL;
		page = (rnd >> 33) % pages;
		word = (uint64_t *)r->addr + page * PAGE_WORDS + PATTERN_WORDS + self->id;
		shadow = &r->shadow[page * r->writers + self->id];
		if (*word != *shadow && self->wrong++ < 10)
			fprintf(stderr, "writer %u page %zu: 0x%" PRIx64 ", wrote 0x%" PRIx64 "\n",
				self->id, page, *word, *shadow);
		*shadow = rnd;
		*word = rnd;
		self->writes++;
	}
	return NULL;
}

static void start_writers(struct writer *writers)
{
	unsigned int i;

	for (i = 0; i < opts.region.writers; i++) {
		writers[i].id = i;
		if (pthread_create(&writers[i].thread, NULL, writer_run, &writers[i])) {
			fprintf(stderr, "cannot start writer %u\n", i);
			exit(2);
		}
	}
}

static void join_writers(struct writer *writers)
{
	unsigned int i;

	atomic_store(&stop_writers, true);
	for (i = 0; i < opts.region.writers; i++)
		pthread_join(writers[i].thread, NULL);
}

static void on_signal(int sig)
{
	(void)sig;
	stop_asked = 1;
}

static uint64_t parse_size(const char *text)
{
	char *end;
	uint64_t n = strtoull(text, &end, 0);

	switch (*end) {
	case 'G':
		n <<= 10;
		/* fall through */
	case 'M':
		n <<= 10;
		/* fall through */
	case 'K':
		n <<= 10;
		end++;
	}
	if (*end || !n) {
		fprintf(stderr, "not a size: '%s' (a number with K, M or G)\n", text);
		exit(2);
	}
	return n;
}

static unsigned long parse_number(const char *text)
{
	char *end;
	unsigned long n = strtoul(text, &end, 0);

	if (end == text || *end) {
		fprintf(stderr, "not a number: '%s'\n", text);
		exit(2);
	}
	return n;
}

static void parse_options(int argc, char **argv)
{
	enum { SIZE, KIND, BYTES, FROM, TO, ROUNDS, SECONDS, PAUSE, CALL, WRITERS, SEED, STAY, KEEP,
	       LAST, TURN, REPORT };
	static const struct option longs[] = {
		{ "size", required_argument, NULL, SIZE },
		{ "kind", required_argument, NULL, KIND },
		{ "bytes", required_argument, NULL, BYTES },
		{ "from", required_argument, NULL, FROM },
		{ "to", required_argument, NULL, TO },
		{ "rounds", required_argument, NULL, ROUNDS },
		{ "seconds", required_argument, NULL, SECONDS },
		{ "pause-ms", required_argument, NULL, PAUSE },
		{ "call", required_argument, NULL, CALL },
		{ "writers", required_argument, NULL, WRITERS },
		{ "seed", required_argument, NULL, SEED },
		{ "may-stay", no_argument, NULL, STAY },
		{ "keep-size", no_argument, NULL, KEEP },
		{ "verify-last", no_argument, NULL, LAST },
		{ "turn", required_argument, NULL, TURN },
		{ "report", required_argument, NULL, REPORT },
		{ }
	};
	struct region *r = &opts.region;
	int c;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		switch (c) {
		case SIZE: r->folio = parse_size(optarg); break;
		case KIND: r->shmem = !strcmp(optarg, "shmem"); break;
		case BYTES: r->bytes = parse_size(optarg); break;
		case FROM: opts.nodes[0] = parse_number(optarg); break;
		case TO: opts.nodes[1] = parse_number(optarg); break;
		case ROUNDS: opts.rounds = parse_number(optarg); break;
		case SECONDS: opts.seconds = parse_number(optarg); break;
		case PAUSE: opts.pause_ms = parse_number(optarg); break;
		case CALL: opts.call_bytes = parse_size(optarg); break;
		case WRITERS: r->writers = parse_number(optarg); break;
		case SEED: r->seed = parse_number(optarg); break;
		case STAY: opts.may_stay = true; break;
		case KEEP: opts.keep_size = true; break;
		case LAST: opts.verify_each = false; break;
		case TURN: opts.turn = optarg; break;
		case REPORT: opts.report = optarg; break;
		default: fputs(usage_text, stderr); exit(2);
		}
	}
	if (optind < argc || r->writers > MAX_WRITERS || r->bytes % r->folio ||
	    opts.call_bytes % r->folio ||
	    r->folio < PAGE_BYTES || r->folio > 2 << 20 || (r->folio & (r->folio - 1))) {
		fputs(usage_text, stderr);
		exit(2);
	}
}

/* The lock that movers of one file take turns with; -1 without one. */
static int turn_open(void)
{
	int fd;

	if (!opts.turn)
		return -1;
	fd = open(opts.turn, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0) {
		fprintf(stderr, "cannot open %s\n", opts.turn);
		exit(2);
	}
	return fd;
}

static void move_to(int node, int turn_fd, struct region_move *total)
{
	if (turn_fd >= 0)
		flock(turn_fd, LOCK_EX);
	region_move(&opts.region, node, opts.call_bytes, total);
	if (turn_fd >= 0)
		flock(turn_fd, LOCK_UN);
	region_whole_folios(&opts.region);
}

static bool time_is_over(uint64_t start, unsigned long rounds)
{
	if (stop_asked)
		return true;
	if (opts.seconds && now_ns() - start >= opts.seconds * 1000000000ULL)
		return true;
	return opts.rounds && rounds >= opts.rounds;
}

static void print_result(FILE *f, const char *line)
{
	fputs(line, f);
	fflush(f);
}

int main(int argc, char **argv)
{
	struct writer writers[MAX_WRITERS] = { };
	struct region *r = &opts.region;
	struct region_move total = { };
	uint64_t wrong = 0, elsewhere = 0, writes = 0, folios, whole_before, whole, start;
	unsigned long rounds = 0;
	int turn_fd;
	char line[1024];
	unsigned int i;
	bool ok;

	parse_options(argc, argv);
	signal(SIGTERM, on_signal);
	signal(SIGINT, on_signal);
	if (!region_alloc(r, opts.nodes[0]))
		return 2;
	region_fill(r);
	folios = r->bytes / r->folio;
	whole_before = region_whole_folios(r);
	if (whole_before != folios) {
		fprintf(stderr, "only %" PRIu64 " of %" PRIu64 " folios have the size asked for\n",
			whole_before, folios);
		return 2;
	}

	turn_fd = turn_open();
	start_writers(writers);
	start = now_ns();
	do {
		int node = opts.nodes[(rounds + 1) % 2];

		move_to(node, turn_fd, &total);
		if (opts.verify_each) {
			elsewhere += region_elsewhere(r, node);
			wrong += region_wrong_words(r, false);
		}
		rounds++;
		if (opts.pause_ms)
			usleep(opts.pause_ms * 1000);
	} while (!time_is_over(start, rounds));
	join_writers(writers);

	for (i = 0; i < r->writers; i++) {
		writes += writers[i].writes;
		wrong += writers[i].wrong;
	}
	wrong += region_wrong_words(r, true);
	elsewhere += region_elsewhere(r, opts.nodes[rounds % 2]);
	whole = region_whole_folios(r);
	ok = !wrong && (opts.may_stay || (!elsewhere && !total.failed)) &&
	     (!opts.keep_size || whole == folios);

	snprintf(line, sizeof(line),
		 "mover: result=%s kind=%s size=%zu bytes=%zu rounds=%lu moved=%" PRIu64
		 " ns=%" PRIu64 " gbps=%.3f calls=%" PRIu64 " retried=%" PRIu64 " failed=%" PRIu64
		 " elsewhere=%" PRIu64 " wrong=%" PRIu64 " folios=%" PRIu64 " whole=%" PRIu64
		 " writes=%" PRIu64 "\n",
		 ok ? "ok" : "bad", r->shmem ? "shmem" : "anon", r->folio, r->bytes, rounds,
		 total.bytes, total.ns, total.ns ? (double)total.bytes / total.ns : 0.0,
		 total.calls, total.retried, total.failed, elsewhere, wrong, folios, whole, writes);
	print_result(stdout, line);
	if (opts.report) {
		FILE *f = fopen(opts.report, "w");

		if (!f) {
			fprintf(stderr, "cannot write %s\n", opts.report);
			return 2;
		}
		print_result(f, line);
		fclose(f);
	}
	return !ok;
}
