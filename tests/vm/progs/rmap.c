// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Brings memory into every state that page table entries can be in, moves it to the other node and
 * back, and prints all that can be seen of it. Two kernels whose migration is the same print the
 * same: see tests/vm/compare. Each state and folio size has a process of its own.
 *
 * Exit status: 0, or 1 when a state could not be had or contents were wrong.
 */
#define _GNU_SOURCE
#include <fnmatch.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "rmap.h"

/* A process that hangs is a failure of its state alone. */
#define STATE_SECONDS 60

static const char usage_text[] =
	"usage: rmap [OPTIONS] [PATTERN...]\n"
	"  PATTERN            states, as the shell matches names (all)\n"
	"  --list             names of the states, then the end\n"
	"  --falsify KEY      gives values of KEY wrong, to see that it is noticed\n";

static void there_and_back(struct test *t)
{
	memory_move(t, 1);
	observe(t, "out");
	memory_move(t, 0);
	observe(t, "back");
}

/* The folios must be what was asked for, or the state is another one. */
static void check_folios(const struct test *t)
{
	static struct view v;
	size_t page;

	if (t->state->kind == ZERO_PAGES)
		return;
	view_read(t, &v);
	for (page = 0; page < t->pages; page++)
		if (v.folio_pages[page] != t->folio / PAGE_BYTES)
			cannot("folios of %u pages", v.folio_pages[page]);
}

static void run_state(struct test *t)
{
	const struct state *s = t->state;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(STATE_SECONDS);
	pin_to_cpu(0);
	catch_faults();
	populate_self();
	/* So that cannot() knows whose line it writes. */
	line_begin(t, "start");
	memory_alloc(t);
	check_folios(t);
	observe_start();
	if (s->prepare)
		s->prepare(t);
	observe(t, "before");
	(s->moves ?: there_and_back)(t);
	(s->after ?: after_write)(t);
	partner_end(t);
	_exit(t->wrong ? 1 : 0);
}

static bool run_one(const struct state *state, unsigned int size)
{
	static struct test t;
	struct timespec now;
	int status;
	pid_t pid;

	t = (struct test){ .state = state, .folio = folio_sizes[size], .size = folio_names[size],
			   .fd = -1, .who = "" };
	clock_gettime(CLOCK_MONOTONIC, &now);
	fprintf(stderr, "rmap-now: %s %s (%ld.%02ld s)\n", state->name, t.size, (long)now.tv_sec,
		now.tv_nsec / 10000000);
	pid = fork();
	if (!pid)
		run_state(&t);
	if (pid < 0 || waitpid(pid, &status, 0) != pid) {
		perror("rmap");
		exit(2);
	}
	line_begin(&t, "end");
	line_add("signal", "%d", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
	line_add("status", "%d", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
	line_end();
	if (status)
		memory_allow(&t, false);
	return !status;
}

static bool run_sizes(const struct state *state)
{
	unsigned int size;
	bool ok = true;

	for (size = 0; folio_sizes[size]; size++)
		if (state->sizes >> size & 1)
			ok &= run_one(state, size);
	return ok;
}

static bool is_wanted(const char *name, char **patterns)
{
	if (!*patterns)
		return true;
	for (; *patterns; patterns++)
		if (!fnmatch(*patterns, name, 0))
			return true;
	return false;
}

int main(int argc, char **argv)
{
	const struct state *state;
	bool ok = true;
	int i = 1;

	for (; i < argc && argv[i][0] == '-'; i++) {
		if (!strcmp(argv[i], "--list")) {
			for (state = states; state->name; state++)
				puts(state->name);
			return 0;
		} else if (!strcmp(argv[i], "--falsify") && i + 1 < argc) {
			line_falsify(argv[++i]);
		} else {
			fputs(usage_text, stderr);
			return 2;
		}
	}
	for (state = states; state->name; state++)
		if (is_wanted(state->name, argv + i))
			ok &= run_sizes(state);
	return !ok;
}
