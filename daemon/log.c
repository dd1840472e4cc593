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

/* The texts of a line, malloc'd. Returns how many. */
static size_t make_texts(char **texts, int priority, const struct log_fields *f, const char *text)
{
	const struct {
		const char *name;
		const char *value;
	} fields[] = {
		{ "MIGBATCH_EVENT", f->event }, { "MIGBATCH_CGROUP", f->cgroup },
		{ "MIGBATCH_POLICY", f->policy }, { "MIGBATCH_TARGET", f->target },
		{ "MIGBATCH_SOURCE", f->source },
	};
	size_t n = 0;

	texts[n++] = str_printf("PRIORITY=%d", priority);
	texts[n++] = str_printf("MESSAGE=%s", text);
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (fields[i].value)
			texts[n++] = str_printf("%s=%s", fields[i].name, fields[i].value);
	if (f->counted) {
		texts[n++] = str_printf("MIGBATCH_SAMPLES=%llu", (unsigned long long)f->samples);
		texts[n++] = str_printf("MIGBATCH_MISSES=%llu", (unsigned long long)f->misses);
	}
	return n;
}

#define TEXTS_MAX 9	/* of make_texts() */

static void log_send(int priority, const struct log_fields *fields, const char *fmt, va_list ap)
{
	struct iovec iov[TEXTS_MAX];
	char *texts[TEXTS_MAX];
	_cleanup_free_ char *text = NULL;
	size_t n;

	if (priority > max_priority || vasprintf(&text, fmt, ap) < 0)
		return;
	if (!to_journal) {
		fprintf(stderr, "%s: %s\n", program_invocation_short_name, text);
		return;
	}

	n = make_texts(texts, priority, fields, text);
	for (size_t i = 0; i < n; i++)
		iov[i] = (struct iovec){ texts[i], texts[i] ? strlen(texts[i]) : 0 };
	if (sd_journal_sendv(iov, n) < 0)
		fprintf(stderr, "<%d>%s\n", priority, text);
	for (size_t i = 0; i < n; i++)
		free(texts[i]);
}

void log_line(int priority, const char *fmt, ...)
{
	const struct log_fields none = { 0 };
	va_list ap;

	va_start(ap, fmt);
	log_send(priority, &none, fmt, ap);
	va_end(ap);
}

void log_event(int priority, const char *event, const char *cgroup, const char *policy,
	       const char *fmt, ...)
{
	const struct log_fields fields = { .event = event, .cgroup = cgroup, .policy = policy };
	va_list ap;

	va_start(ap, fmt);
	log_send(priority, &fields, fmt, ap);
	va_end(ap);
}

void log_fields(int priority, const struct log_fields *fields, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_send(priority, fields, fmt, ap);
	va_end(ap);
}
