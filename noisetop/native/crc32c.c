// SPDX-License-Identifier: Apache-2.0
#include "crc32c.h"

#include <stdbool.h>
#include <string.h>

#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

#define POLYNOMIAL 0x82F63B78 /* reflected */

static uint32_t of_byte[256];

__attribute__((constructor)) static void fill_table(void)
{
	for (uint32_t byte = 0; byte < 256; byte++) {
		uint32_t crc = byte;
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? POLYNOMIAL : 0);
		of_byte[byte] = crc;
	}
}

static uint32_t by_table(uint32_t crc, const uint8_t *next, size_t size)
{
	for (; size; size--)
		crc = crc >> 8 ^ of_byte[(crc ^ *next++) & 0xFF];
	return crc;
}

#if defined(__x86_64__) && !defined(CRC32C_BY_TABLE)

static bool has_instruction(void)
{
	return __builtin_cpu_supports("sse4.2");
}

__attribute__((target("sse4.2"))) static uint32_t by_instruction(uint32_t crc, const uint8_t *next,
								 size_t size)
{
	uint64_t word, wide = crc;
	for (; size >= sizeof(word); size -= sizeof(word), next += sizeof(word)) {
		memcpy(&word, next, sizeof(word));
		wide = __builtin_ia32_crc32di(wide, word);
	}
	for (crc = wide; size; size--)
		crc = __builtin_ia32_crc32qi(crc, *next++);
	return crc;
}

#elif defined(__aarch64__) && !defined(CRC32C_BY_TABLE)

static bool has_instruction(void)
{
	return getauxval(AT_HWCAP) & HWCAP_CRC32;
}

/* As text: not every compiler has the instruction where it is not told of the CPU. */
static uint32_t by_instruction(uint32_t crc, const uint8_t *next, size_t size)
{
	uint64_t word;
	for (; size >= sizeof(word); size -= sizeof(word), next += sizeof(word)) {
		memcpy(&word, next, sizeof(word));
		__asm__(".arch_extension crc\n\tcrc32cx %w0, %w0, %x1" : "+r"(crc) : "r"(word));
	}
	for (; size; size--, next++)
		__asm__(".arch_extension crc\n\tcrc32cb %w0, %w0, %w1" : "+r"(crc) : "r"(*next));
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
