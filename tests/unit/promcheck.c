// SPDX-License-Identifier: GPL-2.0-or-later
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "promcheck.h"

#define NAME_MAX_LEN 200
#define LABELS_MAX 16

struct sample {
	char name[NAME_MAX_LEN];
	char labels[4096];	/* canonical: name="value", in the order written, without le */
	bool has_le;
	double le;
	double value;
};

/* The family that lines belong to, and a histogram of it as far as it was read. */
struct family {
	char name[NAME_MAX_LEN];
	char type[16];
	bool sampled;
	char labels[4096];
	double last_le;
	double last_count;
	double inf;
	bool buckets, has_inf, has_sum, has_count;
};

struct check {
	int line;
	char *why;
	size_t size;
	bool failed;
	struct family family;
	char **seen;		/* names of families */
	size_t nr_seen;
	char **series;		/* of the current one */
	size_t nr_series;
};

static void __attribute__((format(printf, 2, 3)))
bad(struct check *c, const char *fmt, ...)
{
	va_list ap;

	if (c->failed)
		return;
	c->failed = true;
	va_start(ap, fmt);
	vsnprintf(c->why, c->size, fmt, ap);
	va_end(ap);
}

static bool add_once(char ***list, size_t *nr, const char *text)
{
	char **larger;

	for (size_t i = 0; i < *nr; i++)
		if (!strcmp((*list)[i], text))
			return false;
	larger = realloc(*list, (*nr + 1) * sizeof(*larger));
	if (!larger)
		abort();
	*list = larger;
	larger[(*nr)++] = strdup(text);
	return true;
}

static void drop(char ***list, size_t *nr)
{
	for (size_t i = 0; i < *nr; i++)
		free((*list)[i]);
	free(*list);
	*list = NULL;
	*nr = 0;
}

/* [a-zA-Z_:][a-zA-Z0-9_:]*, without colons for labels; the rest of the text. */
static const char *read_name(const char *p, char *name, bool colons)
{
	size_t n = 0;

	if (isdigit((unsigned char)*p))
		return NULL;
	while (isalnum((unsigned char)*p) || *p == '_' || (colons && *p == ':')) {
		if (n + 1 == NAME_MAX_LEN)
			return NULL;
		name[n++] = *p++;
	}
	name[n] = 0;
	return n ? p : NULL;
}

/* Go's ParseFloat as far as it is used here. */
static const char *read_float(const char *p, double *value)
{
	char *end;

	if (isspace((unsigned char)*p) || !*p)
		return NULL;
	if (!strncmp(p, "0x", 2))
		return NULL;
	errno = 0;
	*value = strtod(p, &end);
	return end == p || errno ? NULL : end;
}

/* "value" with its three escapes, up to behind the closing quote. */
static const char *read_value(const char *p, char *value, size_t size)
{
	size_t n = 0;

	if (*p++ != '"')
		return NULL;
	for (; *p && *p != '"'; p++) {
		if (*p == '\\' && !strchr("\\\"n", p[1]))
			return NULL;
		if (*p == '\\' && n + 1 < size)
			value[n++] = *p++;
		if (n + 1 >= size || !*p)
			return NULL;
		value[n++] = *p;
	}
	value[n] = 0;
	return *p == '"' ? p + 1 : NULL;
}

static bool valid_utf8(const char *text)
{
	for (const unsigned char *p = (const unsigned char *)text; *p;) {
		int n = *p < 0x80 ? 1 : *p < 0xc2 ? 0 : *p < 0xe0 ? 2 : *p < 0xf0 ? 3 :
			*p < 0xf5 ? 4 : 0;

		if (!n)
			return false;
		for (int i = 1; i < n; i++)
			if ((p[i] & 0xc0) != 0x80)
				return false;
		p += n;
	}
	return true;
}

static const char *read_labels(struct check *c, const char *p, struct sample *s)
{
	char name[NAME_MAX_LEN], value[2048], names[LABELS_MAX][NAME_MAX_LEN];
	size_t len = 0;
	int nr = 0;

	for (p++; *p != '}'; nr++) {
		if (nr == LABELS_MAX)
			return NULL;
		p = read_name(p, name, false);
		if (!p || *p != '=')
			return NULL;
		p = read_value(p + 1, value, sizeof(value));
		if (!p)
			return NULL;
		for (int i = 0; i < nr; i++)
			if (!strcmp(names[i], name))
				bad(c, "label %s twice", name);
		strcpy(names[nr], name);
		if (!strcmp(name, "le")) {
			s->has_le = true;
			if (!read_float(value, &s->le))
				bad(c, "le=\"%s\" is no number", value);
		} else {
			len += snprintf(s->labels + len, sizeof(s->labels) - len, "%s=\"%s\",",
					name, value);
		}
		if (*p == ',')
			p++;
		else if (*p != '}')
			return NULL;
	}
	return p + 1;
}

static bool read_sample(struct check *c, const char *line, struct sample *s)
{
	const char *p = read_name(line, s->name, true);

	if (p && *p == '{')
		p = read_labels(c, p, s);
	if (!p || *p != ' ')
		return false;
	p = read_float(p + 1, &s->value);
	return p && !*p;	/* no time stamps: ours have none */
}

static bool ends_in(const char *text, const char *end)
{
	size_t a = strlen(text), b = strlen(end);

	return a >= b && !strcmp(text + a - b, end);
}

/* The part of the name behind the family's, NULL when it is of another. */
static const char *suffix_of(const struct family *f, const char *name)
{
	size_t len = strlen(f->name);

	return strncmp(name, f->name, len) ? NULL : name + len;
}

static void histogram_end(struct check *c)
{
	struct family *f = &c->family;

	if (f->buckets && !(f->has_inf && f->has_sum && f->has_count))
		bad(c, "histogram %s{%s} lacks +Inf, _sum or _count", f->name, f->labels);
	f->buckets = f->has_inf = f->has_sum = f->has_count = false;
	f->last_le = -INFINITY;
	f->last_count = 0;
}

static void check_bucket(struct check *c, const struct sample *s)
{
	struct family *f = &c->family;

	if (!s->has_le)
		bad(c, "a bucket without le");
	if (s->le <= f->last_le && f->buckets)
		bad(c, "buckets are not in order");
	if (s->value < f->last_count)
		bad(c, "a bucket holds less than the one before");
	f->buckets = true;
	f->last_le = s->le;
	f->last_count = s->value;
	if (isinf(s->le)) {
		f->has_inf = true;
		f->inf = s->value;
	}
}

static void check_histogram(struct check *c, const struct sample *s, const char *suffix)
{
	struct family *f = &c->family;

	if (strcmp(f->labels, s->labels)) {
		histogram_end(c);
		snprintf(f->labels, sizeof(f->labels), "%s", s->labels);
	}
	if (!strcmp(suffix, "_bucket")) {
		check_bucket(c, s);
	} else if (!strcmp(suffix, "_sum")) {
		f->has_sum = true;
	} else if (!strcmp(suffix, "_count")) {
		f->has_count = true;
		if (s->value != f->inf)
			bad(c, "_count is not that of the bucket +Inf");
	} else {
		bad(c, "'%s' is no sample of a histogram", s->name);
	}
}

static void check_sample(struct check *c, const char *line)
{
	char key[sizeof(((struct sample *)0)->labels) + NAME_MAX_LEN + 32];
	struct sample s = { 0 };
	const char *suffix;

	if (!read_sample(c, line, &s)) {
		bad(c, "not a sample: %s", line);
		return;
	}
	suffix = c->family.type[0] ? suffix_of(&c->family, s.name) : NULL;
	if (!suffix || (strcmp(c->family.type, "histogram") && *suffix)) {
		bad(c, "'%s' is not of the family before it", s.name);
		return;
	}
	c->family.sampled = true;
	snprintf(key, sizeof(key), "%s{%s%.17g}", s.name, s.labels, s.has_le ? s.le : 0);
	if (!add_once(&c->series, &c->nr_series, key))
		bad(c, "the same series twice: %s", line);
	if (!strcmp(c->family.type, "counter") && !(s.value >= 0))
		bad(c, "a counter below 0: %s", line);
	if (!strcmp(c->family.type, "histogram")) {
		check_histogram(c, &s, suffix);
	} else if (s.has_le) {
		bad(c, "le outside of a histogram");
	}
}

static void check_type(struct check *c, const char *type)
{
	struct family *f = &c->family;
	bool total = ends_in(f->name, "_total");

	if (strcmp(type, "counter") && strcmp(type, "gauge") && strcmp(type, "histogram"))
		bad(c, "type '%s' of %s", type, f->name);
	if (!strcmp(type, "counter") != total)
		bad(c, "%s: a counter ends in _total, and nothing else does", f->name);
	if (ends_in(f->name, "_bucket") || ends_in(f->name, "_sum") ||
	    ends_in(f->name, "_count"))
		bad(c, "%s: a name that belongs to histograms", f->name);
	snprintf(f->type, sizeof(f->type), "%s", type);
}

static void check_comment(struct check *c, const char *line)
{
	char name[NAME_MAX_LEN];
	const char *rest;
	bool help = !strncmp(line, "# HELP ", 7);

	if (!help && strncmp(line, "# TYPE ", 7)) {
		bad(c, "a comment that is neither HELP nor TYPE: %s", line);
		return;
	}
	rest = read_name(line + 7, name, true);
	if (!rest || *rest != ' ' || !rest[1]) {
		bad(c, "not a name and a text: %s", line);
		return;
	}
	if (!help) {
		if (strcmp(name, c->family.name) || c->family.type[0])
			bad(c, "TYPE of %s is not behind its HELP", name);
		check_type(c, rest + 1);
		return;
	}
	histogram_end(c);
	drop(&c->series, &c->nr_series);
	c->family = (struct family){ .last_le = -INFINITY };
	strcpy(c->family.name, name);
	if (!add_once(&c->seen, &c->nr_seen, name))
		bad(c, "family %s begins a second time", name);
}

static void check_line(struct check *c, const char *line)
{
	if (!*line)
		bad(c, "an empty line");
	else if (!valid_utf8(line))
		bad(c, "not UTF-8");
	else if (*line == '#')
		check_comment(c, line);
	else
		check_sample(c, line);
}

int prom_check(const char *text, char *why, size_t size)
{
	struct check c = { .why = why, .size = size, .family.last_le = -INFINITY };
	char *copy = strdup(text), *line = copy, *end;

	for (; copy && *line && !c.failed; line = end + 1) {
		c.line++;
		end = strchr(line, '\n');
		if (!end) {
			bad(&c, "the last line has no end");
			break;
		}
		*end = 0;
		check_line(&c, line);
	}
	if (!c.failed)
		histogram_end(&c);
	if (!c.failed && !c.line)
		bad(&c, "nothing at all");
	free(copy);
	drop(&c.seen, &c.nr_seen);
	drop(&c.series, &c.nr_series);
	return c.failed ? (c.line ? c.line : 1) : 0;
}

size_t prom_samples(const char *text)
{
	size_t nr = 0;

	for (const char *p = text; *p; p = strchr(p, '\n') + 1)
		nr += *p != '#';
	return nr;
}
