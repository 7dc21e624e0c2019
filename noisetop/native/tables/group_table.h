/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers for combinations of integers, as they come: a hash table that only grows. */
#ifndef NOISETOP_TABLES_GROUP_TABLE_H
#define NOISETOP_TABLES_GROUP_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GROUP_UNKNOWN UINT32_MAX

struct group_table {
	int width; /* integers of a combination; the caller sets it, the rest is zero at first */
	uint32_t used, room;
	uint64_t *keys;  /* `width` each, by number */
	uint64_t *slots; /* number + 1, and above it the lower half of the hash; 0: free */
	uint64_t slot_mask;
};

static inline uint64_t group_table__mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9E3779B97F4A7C15ull; /* 2^64 by the golden ratio: TAOCP 3, 6.4 */
	return hash ^ hash >> 32;
}

/*
 * The number of a key with this hash, mixed from 0 with all its integers; GROUP_UNKNOWN where it is
 * not known and not to be added, -1 without memory.
 */
int64_t group_table__number(struct group_table *t, const uint64_t *key, uint64_t hash, bool add);
/* The memory that it holds. */
size_t group_table__bytes(const struct group_table *t);
void group_table__destroy(struct group_table *t);

#endif
