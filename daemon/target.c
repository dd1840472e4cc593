// SPDX-License-Identifier: GPL-2.0-or-later
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "target.h"
#include "util.h"

#define TARGET_MIN_NS (1 * NSEC_PER_USEC)
#define TARGET_MAX_NS (10 * NSEC_PER_SEC)

int target_parse_time(const char *text, uint64_t *ns)
{
	uint64_t value;
	int err;

	if (!strcmp(text, "none")) {
		*ns = 0;
		return 0;
	}
	err = parse_time(text, &value);
	if (err)
		return err;
	if (value < TARGET_MIN_NS || value > TARGET_MAX_NS)
		return -ERANGE;
	*ns = value;
	return 0;
}

int target_parse_pct(const char *text, uint32_t *pct_milli)
{
	uint32_t whole = 0, part = 0, scale = 1000;
	const char *p = text;

	if (!isdigit((unsigned char)*p))
		return -EINVAL;
	for (; isdigit((unsigned char)*p); p++) {
		whole = whole * 10 + (*p - '0');
		if (whole > 100)
			return -ERANGE;
	}
	if (*p == '.') {
		if (!isdigit((unsigned char)*++p))
			return -EINVAL;
		for (; isdigit((unsigned char)*p) && scale > 1; p++) {
			scale /= 10;
			part += (*p - '0') * scale;
		}
	}
	if (*p == '%')
		p++;
	if (*p)
		return -EINVAL;
	whole = whole * 1000 + part;
	if (whole < 50000 || whole > 100000)
		return -ERANGE;
	*pct_milli = whole;
	return 0;
}

static int parse_word(const char *word, struct target *target, bool *seen, char *why, size_t size)
{
	if (!strncmp(word, "target=", 7)) {
		*seen = true;
		if (!target_parse_time(word + 7, &target->ns))
			return 0;
		snprintf(why, size, "'%s' is not " TARGET_TIME_ALLOWED, word + 7);
	} else if (!strncmp(word, "pct=", 4)) {
		if (!target_parse_pct(word + 4, &target->pct_milli))
			return 0;
		snprintf(why, size, "'%s' is not " TARGET_PCT_ALLOWED, word + 4);
	} else {
		snprintf(why, size, "'%s' is not understood; allowed is " TARGET_TEXT_ALLOWED,
			 word);
	}
	return -EINVAL;
}

int target_parse(const char *text, struct target *target, char *why, size_t size)
{
	struct target parsed = { .pct_milli = TARGET_PCT_DEFAULT };
	_cleanup_free_ char *copy = strdup(text);
	char *word, *rest = NULL;
	bool seen = false;
	int err;

	if (!copy)
		return -ENOMEM;
	for (word = strtok_r(copy, " \t", &rest); word; word = strtok_r(NULL, " \t", &rest)) {
		err = parse_word(word, &parsed, &seen, why, size);
		if (err)
			return err;
	}
	if (!seen) {
		snprintf(why, size, "no target= in '%s'; allowed is " TARGET_TEXT_ALLOWED, text);
		return -EINVAL;
	}
	*target = parsed;
	return 0;
}

char *target_format(char *buf, const struct target *target)
{
	char time[TIME_TEXT_MAX];
	uint32_t whole = target->pct_milli / 1000, part = target->pct_milli % 1000;
	int len;

	if (!target->ns) {
		snprintf(buf, TARGET_TEXT_MAX, "target=none");
		return buf;
	}
	len = snprintf(buf, TARGET_TEXT_MAX, "target=%s pct=%u", format_time(time, target->ns),
		       whole);
	if (part) {
		len += snprintf(buf + len, TARGET_TEXT_MAX - len, ".%03u", part);
		while (buf[len - 1] == '0')
			buf[--len] = 0;
	}
	return buf;
}
