/* SPDX-License-Identifier: Apache-2.0 */
/* Writes blocks of a recording (bpf/noise.h), each with one call. */
#ifndef NOISETOP_BLOCK_FILE_H
#define NOISETOP_BLOCK_FILE_H

#include <stddef.h>
#include <stdint.h>

/*
 * All or nothing: a part that was written when the disk filled up is cut off again. 0 or -errno.
 */
int block_file__write(int fd, const void *bytes, size_t size);
/* Writes a block of this kind around the payload, whose size is a multiple of 8. 0 or -errno. */
int block_file__write_block(int fd, uint32_t kind, const void *payload, size_t bytes);

#endif
