// SPDX-License-Identifier: Apache-2.0
#include "packed_records.h"

#include <string.h>

#define START 0
#define GROSS 1
#define NET 2
#define HEAD_BYTES 3

/* Bytes of a change by its code. */
static size_t bytes_of(unsigned code)
{
	return (1u << code) & ~1u;
}

static uint8_t *pack_one(uint64_t *last, const uint64_t *words, uint8_t source, uint8_t *to)
{
	uint8_t *head = to;
	unsigned codes = 0;
	to += HEAD_BYTES;
#pragma GCC unroll 8
	for (int i = 0; i < PACKED_WORDS; i++) {
		uint64_t change = i == START ? words[i] - last[i] : words[i] ^ last[i];
		if (!change)
			continue;
		unsigned code = 1 + (change >> 16 != 0) + (change >> 32 != 0);
		codes |= code << 2 * i;
		last[i] = words[i];
		memcpy(to, &change, sizeof(change)); /* what is beyond its bytes is written over */
		to += bytes_of(code);
	}
	head[0] = source;
	head[1] = codes;
	head[2] = codes >> 8;
	return to;
}

size_t packed_records__pack(struct packing *p, const void *records, size_t count, size_t at,
			    uint8_t *to)
{
	const uint8_t *record = records, *begin = to;
	for (; count; count--, record += PACKED_RECORD_BYTES) {
		uint64_t words[PACKED_WORDS];
		memcpy(words, record, sizeof(words));
		words[NET] = words[GROSS] - words[NET];
		to = pack_one(p->last[record[at]], words, record[at], to);
	}
	return to - begin;
}

/* Returns how many bytes the record took. Up to PACKED_MOST_BYTES are read, even so. */
static size_t unpack_one(struct packing *p, const uint8_t *from, uint64_t *words)
{
	static const uint64_t kept[] = {0, UINT16_MAX, UINT32_MAX, UINT64_MAX};
	uint64_t *last = p->last[from[0]];
	unsigned codes = from[1] | from[2] << 8;
	const uint8_t *next = from + HEAD_BYTES;
#pragma GCC unroll 8
	for (int i = 0; i < PACKED_WORDS; i++, codes >>= 2) {
		uint64_t change;
		memcpy(&change, next, sizeof(change));
		change &= kept[codes & 3];
		next += bytes_of(codes & 3);
		last[i] = i == START ? last[i] + change : last[i] ^ change;
		words[i] = last[i];
	}
	words[NET] = words[GROSS] - words[NET];
	return next - from;
}

size_t packed_records__unpack(struct packing *p, const uint8_t *from, size_t size, size_t count,
			      void *records)
{
	size_t taken = 0;
	uint8_t *record = records;
	for (; count; count--, record += PACKED_RECORD_BYTES) {
		uint8_t rest[PACKED_MOST_BYTES];
		uint64_t words[PACKED_WORDS];
		const uint8_t *next = from + taken;
		if (size - taken < sizeof(rest)) {
			memset(rest, 0, sizeof(rest));
			next = memcpy(rest, next, size - taken);
		}
		taken += unpack_one(p, next, words);
		if (taken > size)
			return 0;
		memcpy(record, words, sizeof(words));
	}
	return taken;
}
