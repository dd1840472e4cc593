// SPDX-License-Identifier: GPL-2.0-or-later
/* A child that shares the region, looks at it and writes to it when told to. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rmap.h"

struct partner {
	pid_t pid;
	int command[2];
	int answer[2];
};

static struct partner partner;
static char phase_name[32];

/* Commands: o look, c compare contents, w write all, h write the second half of each folio. */
static void partner_obey(struct test *t, char command)
{
	size_t half = t->stretch / PAGE_BYTES / 2, page;

	switch (command) {
	case 'o':
		observe(t, phase_name);
		break;
	case 'c':
		contents_check(t, "contents");
		break;
	case 'w':
		write_pages(t, "write", 0, 1, FIRST + 2);
		break;
	case 'h':
		for (page = half; page < t->pages; page++)
			if (page % (2 * half) >= half)
				page_write(t, page, FIRST + 3);
		break;
	}
}

static void partner_run(struct test *t)
{
	char command;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	t->who = "other-";
	t->partner = NULL;
	populate_self();
	observe_start();
	if (write(partner.answer[1], "r", 1) != 1)
		_exit(1);
	while (read(partner.command[0], &command, 1) == 1 && command != 'q') {
		if (command == 'o' &&
		    read(partner.command[0], phase_name, sizeof(phase_name)) <= 0)
			break;
		partner_obey(t, command);
		if (write(partner.answer[1], "r", 1) != 1)
			break;
	}
	_exit(t->wrong ? 1 : 0);
}

static void partner_wait(void)
{
	char answer;

	if (read(partner.answer[0], &answer, 1) != 1)
		cannot("the other process died");
}

void partner_start(struct test *t)
{
	if (pipe(partner.command) || pipe(partner.answer))
		cannot("no pipe");
	partner.pid = fork();
	if (partner.pid < 0)
		cannot("no fork");
	if (!partner.pid) {
		close(partner.command[1]);
		close(partner.answer[0]);
		partner_run(t);
	}
	close(partner.command[0]);
	close(partner.answer[1]);
	t->partner = &partner;
	partner_wait();
}

void partner_tell(struct test *t, char command)
{
	(void)t;
	if (write(partner.command[1], &command, 1) != 1)
		cannot("the other process is gone");
	partner_wait();
}

void partner_observe(struct test *t, const char *phase)
{
	char name[sizeof(phase_name)] = "";

	(void)t;
	snprintf(name, sizeof(name), "%s", phase);
	if (write(partner.command[1], "o", 1) != 1 ||
	    write(partner.command[1], name, sizeof(name)) != sizeof(name))
		cannot("the other process is gone");
	partner_wait();
}

void partner_end(struct test *t)
{
	int status = 0;

	if (!t->partner)
		return;
	close(partner.command[1]);
	close(partner.answer[0]);
	waitpid(partner.pid, &status, 0);
	t->partner = NULL;
	if (status)
		t->wrong++;
}
