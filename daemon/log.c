// SPDX-License-Identifier: GPL-2.0-or-later
#define SD_JOURNAL_SUPPRESS_LOCATION
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <systemd/sd-journal.h>

#include "util.h"
#include "log.h"

static bool to_journal;
static int max_priority = LOG_INFO;

/* systemd tells in JOURNAL_STREAM which file the journal reads; stderr may be another by now. */
void log_open(bool debug)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long dev, ino;
	struct stat st;

	max_priority = debug ? LOG_DEBUG : LOG_INFO;
	to_journal = stream && sscanf(stream, "%llu:%llu", &dev, &ino) == 2 &&
		     !fstat(STDERR_FILENO, &st) && st.st_dev == dev && st.st_ino == ino;
}

static void log_send(int priority, const char *event, const char *cgroup, const char *policy,
		     const char *fmt, va_list ap)
{
	const char *const names[] = { "MIGBATCH_EVENT", "MIGBATCH_CGROUP", "MIGBATCH_POLICY" };
	const char *const values[] = { event, cgroup, policy };
	char *texts[ARRAY_SIZE(names) + 2] = { 0 };
	struct iovec iov[ARRAY_SIZE(texts)];
	_cleanup_free_ char *text = NULL;
	size_t n = 0;

	if (priority > max_priority || vasprintf(&text, fmt, ap) < 0)
		return;
	if (!to_journal) {
		fprintf(stderr, "%s: %s\n", program_invocation_short_name, text);
		return;
	}

	texts[n++] = str_printf("PRIORITY=%d", priority);
	texts[n++] = str_printf("MESSAGE=%s", text);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (values[i])
			texts[n++] = str_printf("%s=%s", names[i], values[i]);
	for (size_t i = 0; i < n; i++)
		iov[i] = (struct iovec){ texts[i], texts[i] ? strlen(texts[i]) : 0 };
	if (sd_journal_sendv(iov, n) < 0)
		fprintf(stderr, "<%d>%s\n", priority, text);
	for (size_t i = 0; i < n; i++)
		free(texts[i]);
}

void log_line(int priority, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_send(priority, NULL, NULL, NULL, fmt, ap);
	va_end(ap);
}

void log_event(int priority, const char *event, const char *cgroup, const char *policy,
	       const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_send(priority, event, cgroup, policy, fmt, ap);
	va_end(ap);
}
