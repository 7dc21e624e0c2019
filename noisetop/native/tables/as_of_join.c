// SPDX-License-Identifier: Apache-2.0
#include "as_of_join.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define ANSWERED_BEFORE (AS_OF_JOIN_NONE - 1)
#define FEWEST_ROWS 4096

static int reserve(void **memory, uint32_t *room, uint64_t wanted, size_t bytes)
{
	if (wanted <= *room)
		return 0;
	uint64_t more = *room ? 2ull * *room : 4;
	if (more < wanted)
		more = wanted;
	void *larger = more < ANSWERED_BEFORE ? realloc(*memory, more * bytes) : NULL;
	if (!larger)
		return -1;
	*memory = larger;
	*room = more;
	return 0;
}

/* Gives back what is over of room for twice as much and a few. */
static void trim(void **memory, uint32_t *room, uint32_t used, uint32_t few, size_t bytes)
{
	uint64_t enough = 2ull * used + few;
	void *smaller = enough && enough <= *room / 2 ? realloc(*memory, enough * bytes) : NULL;
	if (!smaller)
		return;
	*memory = smaller;
	*room = enough;
}

static struct entries *entries_of(struct as_of_join *b, uint64_t key, bool add)
{
	uint32_t used = b->keys.used;
	if (add && reserve((void **)&b->of_key, &b->key_room, used + 1ull, sizeof(*b->of_key)))
		return NULL;
	int64_t number = group_table__number(&b->keys, &key, group_table__mix(0, key), add);
	if (number < 0 || number == GROUP_UNKNOWN)
		return NULL;
	if (b->keys.used > used)
		b->of_key[number] = (struct entries){0};
	return &b->of_key[number];
}

static int append(struct entries *some, struct entry entry)
{
	if (reserve((void **)&some->entry, &some->room, some->count + 1ull, sizeof(entry)))
		return -1;
	/* Nearly all come in order. */
	if (some->sorted == some->count &&
	    (!some->count || some->entry[some->count - 1].time_ns <= entry.time_ns))
		some->sorted++;
	some->entry[some->count++] = entry;
	return 0;
}

static void merge(const struct entry *from, uint32_t begin, uint32_t middle, uint32_t end,
		  struct entry *to)
{
	uint32_t left = begin, right = middle;
	for (uint32_t at = begin; at < end; at++) {
		bool from_left = left < middle &&
				 (right == end || from[left].time_ns <= from[right].time_ns);
		to[at] = from_left ? from[left++] : from[right++];
	}
}

/* Sorts what came out of order, from the first place that it concerns on; stable. */
static int sort(struct entries *some)
{
	uint32_t begin = some->sorted, count = some->count;
	uint64_t earliest_ns = UINT64_MAX;
	for (uint32_t i = begin; i < count; i++)
		if (some->entry[i].time_ns < earliest_ns)
			earliest_ns = some->entry[i].time_ns;
	while (begin && some->entry[begin - 1].time_ns > earliest_ns)
		begin--;
	struct entry *part = some->entry + begin, *to = malloc((count - begin) * sizeof(*to));
	struct entry *spare = to;
	if (!to)
		return -1;
	count -= begin;
	for (uint64_t width = 1; width < count; width *= 2) {
		for (uint64_t i = 0; i < count; i += 2 * width) {
			uint64_t middle = i + width < count ? i + width : count;
			uint64_t end = i + 2 * width < count ? i + 2 * width : count;
			merge(part, i, middle, end, to);
		}
		struct entry *swapped = part;
		part = to;
		to = swapped;
	}
	if (part == spare)
		memcpy(some->entry + begin, part, count * sizeof(*part));
	free(spare);
	some->sorted = some->count;
	return 0;
}

int as_of_join__add(struct as_of_join *b, const char *rows, const uint64_t *keys,
		    const uint64_t *times_ns, size_t count)
{
	uint64_t wanted = (uint64_t)b->row_count + count;
	if (!count)
		return 0;
	if (reserve((void **)&b->rows, &b->row_room, wanted, b->row_bytes))
		return -1;
	memcpy(b->rows + b->row_count * b->row_bytes, rows, count * b->row_bytes);
	for (size_t i = 0; i < count; i++) {
		struct entries *some = entries_of(b, keys[i], true);
		struct entry entry = {times_ns[i], b->row_count, AS_OF_JOIN_NONE};
		if (!some || append(some, entry))
			return -1;
		b->row_count++;
		if (times_ns[i] > b->newest_ns)
			b->newest_ns = times_ns[i];
	}
	for (uint32_t i = 0; i < b->keys.used; i++)
		if (b->of_key[i].sorted < b->of_key[i].count && sort(&b->of_key[i]))
			return -1;
	return 0;
}

static struct entry *last_before(struct entries *some, uint64_t time_ns)
{
	uint32_t low = 0, high = some->count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (some->entry[middle].time_ns <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &some->entry[low - 1] : NULL;
}

static bool claims(struct entry *entry, uint32_t query, const uint64_t *before_ns, uint32_t *found)
{
	uint32_t other = entry->answered;
	if (other == ANSWERED_BEFORE)
		return false;
	if (other != AS_OF_JOIN_NONE && before_ns[other] <= before_ns[query])
		return false;
	if (other != AS_OF_JOIN_NONE)
		found[other] = AS_OF_JOIN_NONE;
	entry->answered = query;
	return true;
}

void as_of_join__find(struct as_of_join *b, const uint64_t *keys, const uint64_t *before_ns,
		      size_t count, bool once, uint32_t *found)
{
	for (size_t i = 0; i < count; i++) {
		struct entries *some = entries_of(b, keys[i], false);
		struct entry *entry = some ? last_before(some, before_ns[i]) : NULL;
		if (entry && once && !claims(entry, i, before_ns, found))
			entry = NULL;
		found[i] = entry ? entry->row : AS_OF_JOIN_NONE;
	}
	for (size_t i = 0; once && i < count; i++)
		if (found[i] != AS_OF_JOIN_NONE)
			last_before(entries_of(b, keys[i], false), before_ns[i])->answered =
				ANSWERED_BEFORE;
}

/* How many entries at the beginning are neither recent nor among the last two before these. */
static uint32_t dispensable(const struct entries *some, uint64_t recent_since_ns)
{
	uint32_t old = 0;
	while (old < some->count && some->entry[old].time_ns < recent_since_ns)
		old++;
	return old > 2 ? old - 2 : 0;
}

static int by_value(const void *one, const void *other)
{
	uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
	return a < b ? -1 : a > b;
}

/* The moment before which the old ones that are kept are too many. */
static int oldest_kept(const struct as_of_join *b, uint64_t recent_since_ns, uint64_t *oldest_ns)
{
	uint64_t *times = malloc((2ull * b->keys.used + 1) * sizeof(*times));
	size_t count = 0;
	if (!times)
		return -1;
	for (uint32_t i = 0; i < b->keys.used; i++) {
		const struct entries *some = &b->of_key[i];
		uint32_t at = dispensable(some, recent_since_ns);
		for (; at < some->count && some->entry[at].time_ns < recent_since_ns; at++)
			times[count++] = some->entry[at].time_ns;
	}
	*oldest_ns = 0;
	if (count > b->remembered) {
		qsort(times, count, sizeof(*times), by_value);
		*oldest_ns = times[count - b->remembered];
	}
	free(times);
	return 0;
}

/* Leaves out the first entries of a key, and notes the rows of the others. */
static void drop_first(struct entries *some, uint32_t count, uint32_t *place_of_row)
{
	some->count -= count;
	some->sorted = some->count;
	memmove(some->entry, some->entry + count, some->count * sizeof(*some->entry));
	for (uint32_t i = 0; i < some->count; i++)
		place_of_row[some->entry[i].row] = 0;
	trim((void **)&some->entry, &some->room, some->count, 0, sizeof(*some->entry));
}

/* Moves the rows that are noted together, and tells the entries. */
static void compact_rows(struct as_of_join *b, uint32_t *place_of_row)
{
	uint32_t kept = 0;
	for (uint32_t row = 0; row < b->row_count; row++) {
		if (place_of_row[row] == AS_OF_JOIN_NONE)
			continue;
		memmove(b->rows + kept * b->row_bytes, b->rows + row * b->row_bytes, b->row_bytes);
		place_of_row[row] = kept++;
	}
	for (uint32_t i = 0; i < b->keys.used; i++)
		for (uint32_t j = 0; j < b->of_key[i].count; j++)
			b->of_key[i].entry[j].row = place_of_row[b->of_key[i].entry[j].row];
	b->row_count = b->pruned_rows = kept;
	trim((void **)&b->rows, &b->row_room, kept, FEWEST_ROWS, b->row_bytes);
}

/* Keys that have no entries any more take no room. */
static int compact_keys(struct as_of_join *b)
{
	struct group_table keys = {.width = 1};
	for (uint32_t i = 0; i < b->keys.used; i++) {
		uint64_t key = b->keys.keys[i];
		if (b->of_key[i].count &&
		    group_table__number(&keys, &key, group_table__mix(0, key), true) < 0) {
			group_table__destroy(&keys);
			return -1;
		}
	}
	uint32_t kept = 0;
	for (uint32_t i = 0; i < b->keys.used; i++) {
		if (b->of_key[i].count)
			b->of_key[kept++] = b->of_key[i];
		else
			free(b->of_key[i].entry);
	}
	group_table__destroy(&b->keys);
	b->keys = keys;
	trim((void **)&b->of_key, &b->key_room, kept, 0, sizeof(*b->of_key));
	return 0;
}

int as_of_join__prune(struct as_of_join *b)
{
	uint64_t since_ns = b->newest_ns > b->recent_ns ? b->newest_ns - b->recent_ns : 0;
	uint64_t oldest_ns;
	if (b->row_count < 2ull * b->pruned_rows + FEWEST_ROWS)
		return 0;
	if (oldest_kept(b, since_ns, &oldest_ns))
		return -1;
	uint32_t *place_of_row = malloc(b->row_count * sizeof(*place_of_row));
	if (!place_of_row)
		return -1;
	memset(place_of_row, 0xFF, b->row_count * sizeof(*place_of_row)); /* AS_OF_JOIN_NONE */
	for (uint32_t i = 0; i < b->keys.used; i++) {
		struct entries *some = &b->of_key[i];
		uint32_t begin = dispensable(some, since_ns);
		while (begin < some->count && some->entry[begin].time_ns < oldest_ns)
			begin++;
		drop_first(some, begin, place_of_row);
	}
	compact_rows(b, place_of_row);
	free(place_of_row);
	return compact_keys(b);
}

size_t as_of_join__bytes(const struct as_of_join *b)
{
	size_t bytes = b->row_room * b->row_bytes + b->key_room * sizeof(*b->of_key) +
		       group_table__bytes(&b->keys);
	for (uint32_t i = 0; i < b->keys.used; i++)
		bytes += b->of_key[i].room * sizeof(*b->of_key[i].entry);
	return bytes;
}

void as_of_join__destroy(struct as_of_join *b)
{
	for (uint32_t i = 0; i < b->keys.used; i++)
		free(b->of_key[i].entry);
	free(b->of_key);
	free(b->rows);
	group_table__destroy(&b->keys);
}
