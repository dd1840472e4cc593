// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * twin-clock [boot|fitted]: sets how many instructions a nanosecond of virtual time takes, and
 * prints in any case what is in force. Exit status 1 when the machine has no such clock.
 */
#include <stdio.h>
#include <string.h>

#include "twin.h"

int main(int argc, char **argv)
{
	static const char *const names[] = { "none", "boot", "fitted" };
	struct twin twin;
	unsigned int mode;

	if (argc == 2) {
		for (mode = TWIN_BOOT; mode <= TWIN_FITTED; mode++)
			if (!strcmp(argv[1], names[mode]))
				break;
		if (mode > TWIN_FITTED) {
			fprintf(stderr, "usage: twin-clock [boot|fitted]\n");
			return 2;
		}
		if (!twin_set_mode(mode)) {
			fprintf(stderr, "the clock did not take mode %s (QEMU needs -icount)\n",
				argv[1]);
			return 1;
		}
	}
	if (!twin_read(&twin))
		return 1;
	printf("twin: mode=%s insns_per_ns=%u rep_bytes=%u turn_ns=%u\n",
	       twin.mode <= TWIN_FITTED ? names[twin.mode] : "?", twin.insns_per_ns, twin.rep_bytes,
	       twin.turn_ns);
	return 0;
}
