/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that are found again by a key and a moment: the last one with that key up to then. */
#ifndef NOISETOP_TABLES_AS_OF_JOIN_H
#define NOISETOP_TABLES_AS_OF_JOIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "group_table.h"

#define AS_OF_JOIN_NONE UINT32_MAX

struct entry {
	uint64_t time_ns;
	uint32_t row;
	uint32_t answered; /* the query of this batch; NONE - 1: one of an earlier batch; or NONE */
};

/* Of one key, in the order of time, of equal moments in that in which they came. */
struct entries {
	struct entry *entry;
	uint32_t count, room;
	uint32_t sorted; /* of these; the rest has just come */
};

struct as_of_join {
	size_t row_bytes;
	uint64_t recent_ns;  /* all are kept that are no older than the newest by more */
	uint32_t remembered; /* of older ones the last two of each key, but no more than this */
	struct group_table keys;
	struct entries *of_key;
	uint32_t key_room;
	char *rows;
	uint32_t row_count, row_room;
	uint32_t pruned_rows; /* how many the last pruning left */
	uint64_t newest_ns;
};

/* All return 0, or -1 without memory; then the join is as good as before, but for rows missing. */
int as_of_join__add(struct as_of_join *b, const char *rows, const uint64_t *keys,
		    const uint64_t *times_ns, size_t count);
/* What is old and will hardly be asked for goes, once the join has doubled. */
int as_of_join__prune(struct as_of_join *b);
/*
 * The number of the row for each query, AS_OF_JOIN_NONE: none. `once`: each row answers one query
 * alone in its life, of those of one call the earliest.
 */
void as_of_join__find(struct as_of_join *b, const uint64_t *keys, const uint64_t *before_ns,
		      size_t count, bool once, uint32_t *found);
/* The memory that it holds. */
size_t as_of_join__bytes(const struct as_of_join *b);
void as_of_join__destroy(struct as_of_join *b);

#endif
