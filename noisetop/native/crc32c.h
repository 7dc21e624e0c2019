/* SPDX-License-Identifier: Apache-2.0 */
/* The checksum of a recording's blocks: CRC-32C (RFC 3720, appendix B.4), as CPUs have an instruction
 * for it. */
#ifndef NOISETOP_CRC32C_H
#define NOISETOP_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Of what `crc` is the checksum of, 0 for nothing, and then these bytes. */
uint32_t crc32c(uint32_t crc, const void *bytes, size_t size);

#endif
