// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>
#include <string.h>

#include "quota.h"

static const char *const held_texts[QUOTA_KINDS] = {
	[QUOTA_SET] = "targets set",
	[QUOTA_UNSET] = "targets taken back",
	[QUOTA_MISSED] = "targets that began to be missed",
	[QUOTA_OVER] = "of such misses over",
	[QUOTA_OUT_OF_REACH] = "targets out of reach",
	[QUOTA_REFUSED] = "attributes refused",
};

bool quota_take(struct quota *q, enum quota_kind kind, uint64_t now_ns)
{
	if (now_ns - q->start_ns >= QUOTA_WINDOW_NS) {
		q->start_ns = now_ns;
		q->lines = 0;
	}
	if (q->lines < QUOTA_LINES) {
		q->lines++;
		return true;
	}
	q->held[kind]++;
	return false;
}

void quota_hold(struct quota *q, enum quota_kind kind)
{
	q->held[kind]++;
}

char *quota_summary(struct quota *q, uint64_t now_ns)
{
	char text[512] = "";
	size_t len = 0;

	if (now_ns - q->start_ns < QUOTA_WINDOW_NS)
		return NULL;
	for (int i = 0; i < QUOTA_KINDS; i++) {
		if (!q->held[i])
			continue;
		len += snprintf(text + len, sizeof(text) - len, "%s%llu %s", len ? ", " : "",
				(unsigned long long)q->held[i], held_texts[i]);
		q->held[i] = 0;
	}
	if (!len)
		return NULL;
	/* The next summary is due a whole window from now, however little there is to write. */
	q->start_ns = now_ns;
	q->lines = 0;
	return strdup(text);
}
