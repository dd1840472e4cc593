/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From ids of cgroups to places in an array: with ten thousand cgroups no search may be linear. */
#ifndef MIGBATCH_IDMAP_H
#define MIGBATCH_IDMAP_H

#include <stddef.h>
#include <stdint.h>

struct idmap {
	struct idmap_slot *slots;
	size_t room;		/* a power of two, or 0 */
	size_t nr;
};

#define IDMAP_NONE SIZE_MAX

/* An id that is there already gets the new place. 0 or -ENOMEM. */
int idmap_set(struct idmap *map, uint64_t id, size_t place);

/* IDMAP_NONE when there is none. */
size_t idmap_get(const struct idmap *map, uint64_t id);

void idmap_free(struct idmap *map);

#endif /* MIGBATCH_IDMAP_H */
