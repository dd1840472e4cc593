// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>

#include "idmap.h"

/* @place is one more than the caller's, so that 0 marks a free slot. */
struct idmap_slot {
	uint64_t id;
	size_t place;
};

/* The slot of @id, or the free one where it belongs: at most half of all are taken. */
static struct idmap_slot *find(const struct idmap *map, uint64_t id)
{
	/* 2^64 divided by the golden ratio: ids that follow one another are spread. */
	size_t i = (id * 0x9e3779b97f4a7c15ULL >> 32) & (map->room - 1);

	while (map->slots[i].place && map->slots[i].id != id)
		i = (i + 1) & (map->room - 1);
	return &map->slots[i];
}

static int grow(struct idmap *map)
{
	struct idmap larger = { .room = map->room ? 2 * map->room : 64, .nr = map->nr };

	larger.slots = calloc(larger.room, sizeof(*larger.slots));
	if (!larger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < map->room; i++)
		if (map->slots[i].place)
			*find(&larger, map->slots[i].id) = map->slots[i];
	free(map->slots);
	*map = larger;
	return 0;
}

int idmap_set(struct idmap *map, uint64_t id, size_t place)
{
	struct idmap_slot *slot;

	if (2 * (map->nr + 1) > map->room && grow(map))
		return -ENOMEM;
	slot = find(map, id);
	map->nr += !slot->place;
	*slot = (struct idmap_slot){ .id = id, .place = place + 1 };
	return 0;
}

size_t idmap_get(const struct idmap *map, uint64_t id)
{
	const struct idmap_slot *slot = map->room ? find(map, id) : NULL;

	return slot && slot->place ? slot->place - 1 : IDMAP_NONE;
}

void idmap_free(struct idmap *map)
{
	free(map->slots);
	*map = (struct idmap){ 0 };
}
