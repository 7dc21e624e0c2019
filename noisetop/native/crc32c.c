// SPDX-License-Identifier: Apache-2.0
#include "crc32c.h"

#include <stdbool.h>
#include <string.h>

#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

#define POLYNOMIAL 0x82F63B78 /* reflected */

#define PART_BYTES 1024

static uint32_t of_byte[256];
static uint32_t of_byte_over_zeros[4][256]; /* by its place in a checksum, from the lowest on */

static uint32_t by_table(uint32_t crc, const uint8_t *next, size_t size)
{
	for (; size; size--)
		crc = crc >> 8 ^ of_byte[(crc ^ *next++) & 0xFF];
	return crc;
}

/* What a checksum becomes over PART_BYTES zeros. */
static inline uint32_t over_zeros(uint32_t crc)
{
	return of_byte_over_zeros[0][crc & 0xFF] ^ of_byte_over_zeros[1][crc >> 8 & 0xFF] ^
	       of_byte_over_zeros[2][crc >> 16 & 0xFF] ^ of_byte_over_zeros[3][crc >> 24];
}

static void fill_over_zeros(void)
{
	static const uint8_t zeros[PART_BYTES];
	for (int bit = 0; bit < 32; bit++) {
		uint32_t *of = of_byte_over_zeros[bit / 8], one = 1u << bit % 8;
		of[one] = by_table(1u << bit, zeros, sizeof(zeros));
		for (uint32_t byte = 1; byte < one; byte++)
			of[one + byte] = of[one] ^ of[byte];
	}
}

__attribute__((constructor)) static void fill_tables(void)
{
	for (uint32_t byte = 0; byte < 256; byte++) {
		uint32_t crc = byte;
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? POLYNOMIAL : 0);
		of_byte[byte] = crc;
	}
	fill_over_zeros();
}

#if defined(__x86_64__) && !defined(CRC32C_BY_TABLE)

#define INSTRUCTION __attribute__((target("sse4.2")))

static bool has_instruction(void)
{
	return __builtin_cpu_supports("sse4.2");
}

INSTRUCTION static inline uint64_t with_word(uint64_t crc, uint64_t word)
{
	return __builtin_ia32_crc32di(crc, word);
}

INSTRUCTION static inline uint32_t with_byte(uint32_t crc, uint8_t byte)
{
	return __builtin_ia32_crc32qi(crc, byte);
}

#elif defined(__aarch64__) && !defined(CRC32C_BY_TABLE)

#define INSTRUCTION

static bool has_instruction(void)
{
	return getauxval(AT_HWCAP) & HWCAP_CRC32;
}

/* As text: not every compiler has the instruction where it is not told of the CPU. */
static inline uint64_t with_word(uint64_t crc, uint64_t word)
{
	__asm__(".arch_extension crc\n\tcrc32cx %w0, %w0, %x1" : "+r"(crc) : "r"(word));
	return crc;
}

static inline uint32_t with_byte(uint32_t crc, uint8_t byte)
{
	__asm__(".arch_extension crc\n\tcrc32cb %w0, %w0, %w1" : "+r"(crc) : "r"(byte));
	return crc;
}

#endif

#if defined(INSTRUCTION)

INSTRUCTION static inline uint64_t with_word_at(uint64_t crc, const uint8_t *place)
{
	uint64_t word;
	memcpy(&word, place, sizeof(word));
	return with_word(crc, word);
}

/*
 * The instruction takes three cycles and a CPU begins one in each, so three parts of what is long
 * are looked at side by side and put together: what a checksum becomes over zeros is linear in it.
 */
INSTRUCTION static uint32_t by_instruction(uint32_t crc, const uint8_t *next, size_t size)
{
	uint64_t first = crc;
	for (; size >= 3 * PART_BYTES; size -= 3 * PART_BYTES, next += 3 * PART_BYTES) {
		uint64_t second = 0, third = 0;
		for (size_t at = 0; at < PART_BYTES; at += sizeof(uint64_t)) {
			first = with_word_at(first, next + at);
			second = with_word_at(second, next + PART_BYTES + at);
			third = with_word_at(third, next + 2 * PART_BYTES + at);
		}
		first = over_zeros(over_zeros(first) ^ second) ^ third;
	}
	for (; size >= sizeof(uint64_t); size -= sizeof(uint64_t), next += sizeof(uint64_t))
		first = with_word_at(first, next);
	for (crc = first; size; size--)
		crc = with_byte(crc, *next++);
	return crc;
}

#else

static bool has_instruction(void)
{
	return false;
}

static const typeof(&by_table) by_instruction = by_table;

#endif

uint32_t crc32c(uint32_t crc, const void *bytes, size_t size)
{
	return ~(has_instruction() ? by_instruction : by_table)(~crc, bytes, size);
}
