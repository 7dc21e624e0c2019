/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records without what they have in common. Each is a byte by which it is told apart, a 16-bit number
 * of two bits for each of its words, and the words that differ from those of the last record with the
 * same byte, which are zeros at first: by how much the first word, when it began, is later, and the
 * others' exclusive or. Two bits tell how many bytes that takes: 0, 2, 4 or 8. In place of the third
 * word, an event's net time, there is the second one less the third: what was nested in it, nothing
 * as a rule. Numbers are little-endian.
 */
#ifndef NOISETOP_PACKED_RECORDS_H
#define NOISETOP_PACKED_RECORDS_H

#include <stddef.h>
#include <stdint.h>

#define PACKED_WORDS 8
#define PACKED_RECORD_BYTES (PACKED_WORDS * sizeof(uint64_t))
/* What a record needs in the worst case. */
#define PACKED_MOST_BYTES (3 + PACKED_RECORD_BYTES)

/* Zeros at first. */
struct packing {
	uint64_t last[256][PACKED_WORDS];
};

/*
 * Packs records, of PACKED_RECORD_BYTES each, that are told apart by the byte at `at`, into a place
 * that has PACKED_MOST_BYTES for each. Returns how many bytes they took.
 */
size_t packed_records__pack(struct packing *p, const void *records, size_t count, size_t at,
			    uint8_t *to);
/* Unpacks so many records. Returns how many of the `size` bytes it took; 0: these hold fewer. */
size_t packed_records__unpack(struct packing *p, const uint8_t *from, size_t size, size_t count,
			      void *records);

#endif
