// SPDX-License-Identifier: Apache-2.0
#include "group_table.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_SLOTS 64

static uint64_t hash_of(const uint64_t *key, int width)
{
	uint64_t hash = 0;
	for (int i = 0; i < width; i++)
		hash = group_table__mix(hash, key[i]);
	return hash;
}

static uint64_t slot_value(uint64_t hash, uint32_t number)
{
	return hash << 32 | (number + 1);
}

/* The slot where the key stands, or the free one where it belongs. */
static uint64_t *find(const struct group_table *t, const uint64_t *key, uint64_t hash)
{
	uint64_t tag = hash & UINT32_MAX;
	for (uint64_t at = tag & t->slot_mask;; at = (at + 1) & t->slot_mask) {
		uint64_t slot = t->slots[at];
		if (!slot)
			return &t->slots[at];
		if (slot >> 32 != tag)
			continue;
		const uint64_t *known = t->keys + (size_t)((uint32_t)slot - 1) * t->width;
		int i = 0;
		while (i < t->width && known[i] == key[i])
			i++;
		if (i == t->width)
			return &t->slots[at];
	}
}

static int widen_slots(struct group_table *t, uint64_t slots)
{
	uint64_t *wider = calloc(slots, sizeof(*wider));
	if (!wider)
		return -1;
	free(t->slots);
	t->slots = wider;
	t->slot_mask = slots - 1;
	for (uint32_t number = 0; number < t->used; number++) {
		const uint64_t *key = t->keys + (size_t)number * t->width;
		uint64_t hash = hash_of(key, t->width);
		*find(t, key, hash) = slot_value(hash, number);
	}
	return 0;
}

/* Room for one more. */
static int grow(struct group_table *t)
{
	if (t->used == t->room) {
		uint32_t room = t->room ? 2 * t->room : FIRST_SLOTS / 2;
		uint64_t *keys =
			room > GROUP_UNKNOWN / 2
				? NULL
				: realloc(t->keys, (size_t)room * t->width * sizeof(*keys));
		if (!keys)
			return -1;
		t->keys = keys;
		t->room = room;
	}
	uint64_t slots = t->slots ? t->slot_mask + 1 : 0;
	return 2 * (uint64_t)t->used < slots ? 0 : widen_slots(t, slots ? 2 * slots : FIRST_SLOTS);
}

int64_t group_table__number(struct group_table *t, const uint64_t *key, uint64_t hash, bool add)
{
	uint64_t *slot = t->slots ? find(t, key, hash) : NULL;
	if (slot && *slot)
		return (uint32_t)*slot - 1;
	if (!add)
		return GROUP_UNKNOWN;
	if (grow(t))
		return -1;
	memcpy(t->keys + (size_t)t->used * t->width, key, t->width * sizeof(*key));
	*find(t, key, hash) = slot_value(hash, t->used);
	return t->used++;
}

size_t group_table__bytes(const struct group_table *t)
{
	size_t slots = t->slots ? t->slot_mask + 1 : 0;
	return (size_t)t->room * t->width * sizeof(*t->keys) + slots * sizeof(*t->slots);
}

void group_table__destroy(struct group_table *t)
{
	free(t->keys);
	free(t->slots);
	*t = (struct group_table){.width = t->width};
}
