// SPDX-License-Identifier: Apache-2.0
#include "packed_records.h"

#include <string.h>

#define GROSS 1
#define NET 2

size_t packed_records__pack(struct packing *p, const void *records, size_t count, size_t at,
			    uint8_t *to)
{
	const uint8_t *record = records, *begin = to;
	for (; count; count--, record += PACKED_RECORD_BYTES) {
		uint64_t words[PACKED_WORDS], *last = p->last[record[at]];
		unsigned mask = 0;
		memcpy(words, record, sizeof(words));
		words[NET] = words[GROSS] - words[NET];
#pragma GCC unroll 8
		for (int i = 0; i < PACKED_WORDS; i++)
			mask |= (unsigned)(words[i] != last[i]) << i;
		*to++ = record[at];
		*to++ = mask;
		for (; mask; mask &= mask - 1) {
			int i = __builtin_ctz(mask);
			memcpy(to, &words[i], sizeof(words[i]));
			to += sizeof(words[i]);
			last[i] = words[i];
		}
	}
	return to - begin;
}

size_t packed_records__unpack(struct packing *p, const uint8_t *from, size_t size, size_t count,
			      void *records)
{
	const uint8_t *next = from, *end = from + size;
	uint8_t *record = records;
	for (; count; count--, record += PACKED_RECORD_BYTES) {
		if (end - next < 2)
			return 0;
		uint64_t words[PACKED_WORDS], *last = p->last[next[0]];
		unsigned mask = next[1];
		next += 2;
		if ((size_t)(end - next) < __builtin_popcount(mask) * sizeof(*words))
			return 0;
		for (int i = 0; i < PACKED_WORDS; i++) {
			if (mask & 1u << i) {
				memcpy(&last[i], next, sizeof(last[i]));
				next += sizeof(last[i]);
			}
			words[i] = last[i];
		}
		words[NET] = words[GROSS] - words[NET];
		memcpy(record, words, sizeof(words));
	}
	return next - from;
}
