// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads Prometheus' text format from standard input, strictly; says what is wrong with it. */
#include <stdio.h>
#include <stdlib.h>

#include "../../unit/promcheck.h"

#define TEXT_MAX (32 << 20)

int main(void)
{
	char *text = malloc(TEXT_MAX), why[512];
	size_t len;
	int line;

	if (!text)
		return 1;
	len = fread(text, 1, TEXT_MAX - 1, stdin);
	text[len] = 0;
	line = prom_check(text, why, sizeof(why));
	if (line)
		printf("line %d: %s\n", line, why);
	else
		printf("%zu samples\n", prom_samples(text));
	free(text);
	return line != 0;
}
