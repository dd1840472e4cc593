// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One line of output: `rmap: STATE SIZE PHASE key=value ...`. It is built in memory of its own and
 * written at once, so that two processes' lines do not mix and no allocation disturbs what is
 * counted.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rmap.h"

static struct {
	char text[32768];
	size_t len;
} line;

static struct {
	char text[16384];
	size_t len;
	char word[64];
	unsigned int count;
} run;

static const struct test *current;
static const char *false_key = "";

void line_falsify(const char *key)
{
	false_key = key;
}

static void add(char *text, size_t size, size_t *len, const char *format, va_list args)
{
	int n = vsnprintf(text + *len, size - *len, format, args);

	if (n < 0 || *len + n >= size) {
		fprintf(stderr, "rmap: a line is too long\n");
		_exit(3);
	}
	*len += n;
}

static void line_text(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add(line.text, sizeof(line.text), &line.len, format, args);
	va_end(args);
}

void line_begin(const struct test *t, const char *phase)
{
	current = t;
	line.len = 0;
	line_text("rmap: %s %s %s%s", t->state->name, t->size, t->who, phase);
}

void line_add(const char *key, const char *format, ...)
{
	va_list args;

	line_text(" %s=", key);
	va_start(args, format);
	add(line.text, sizeof(line.text), &line.len, format, args);
	va_end(args);
	if (!strcmp(key, false_key))
		line_text("~");
}

void line_end(void)
{
	size_t done = 0;

	line_text("\n");
	while (done < line.len) {
		ssize_t n = write(STDOUT_FILENO, line.text + done, line.len - done);

		if (n < 0 && errno != EINTR)
			_exit(3);
		if (n > 0)
			done += n;
	}
}

void run_begin(void)
{
	run.len = 0;
	run.count = 0;
}

static void run_text(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add(run.text, sizeof(run.text), &run.len, format, args);
	va_end(args);
}

static void run_flush(void)
{
	const char *comma = run.len ? "," : "";

	if (run.count == 1)
		run_text("%s%s", comma, run.word);
	else if (run.count)
		run_text("%s%ux%s", comma, run.count, run.word);
	run.count = 0;
}

void run_word(const char *word)
{
	if (run.count && strcmp(word, run.word))
		run_flush();
	if (!run.count)
		snprintf(run.word, sizeof(run.word), "%s", word);
	run.count++;
}

void run_letters(const char *key, const char *letters, size_t nr, size_t step)
{
	char word[2] = "";
	size_t i;

	run_begin();
	for (i = 0; i < nr; i += step) {
		word[0] = letters[i];
		run_word(word);
	}
	run_end(key);
}

void run_add(const char *format, ...)
{
	char word[sizeof(run.word)];
	va_list args;

	va_start(args, format);
	vsnprintf(word, sizeof(word), format, args);
	va_end(args);
	run_word(word);
}

void run_end(const char *key)
{
	run_flush();
	line_add(key, "%s", run.text);
}

static void end_with(const char *key, const char *format, va_list args)
{
	char text[256];
	char *c;

	vsnprintf(text, sizeof(text), format, args);
	for (c = text; *c; c++)
		if (*c == ' ')
			*c = '_';
	if (current)
		line_begin(current, "setup");
	line_add(key, "%s", text);
	line_end();
	_exit(1);
}

void cannot(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	end_with("failed", format, args);
	va_end(args);
	abort();
}

void unsupported(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	end_with("unsupported", format, args);
	va_end(args);
	abort();
}
