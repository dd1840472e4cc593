/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The guest's access to the clock of the twin (tests/qemu/twin-clock.c). */
#ifndef MIGBATCH_TEST_TWIN_H
#define MIGBATCH_TEST_TWIN_H

#include <stdbool.h>
#include <stdint.h>

enum twin_mode { TWIN_NONE, TWIN_BOOT, TWIN_FITTED };

struct twin {
	enum twin_mode mode;
	uint32_t insns_per_ns;
	uint32_t rep_bytes;
	uint32_t turn_ns;
};

/* False, with a message on stderr, when there is no such device or it cannot be reached. */
bool twin_read(struct twin *twin);
bool twin_set_mode(enum twin_mode mode);

#endif /* MIGBATCH_TEST_TWIN_H */
