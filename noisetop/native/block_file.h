/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a recording: its head, and then blocks (bpf/noise.h), each with one call. */
#ifndef NOISETOP_BLOCK_FILE_H
#define NOISETOP_BLOCK_FILE_H

#include <stddef.h>
#include <stdint.h>

struct noise_block;

struct block_file {
	int fd;          /* -1: there is none */
	uint32_t blocks; /* written so far */
	int error; /* errno of the first write that failed, 0: none did; nothing is written after it */
};

/*
 * All write all or nothing: a part that was written when the disk filled up is cut off again.
 * 0 or -errno.
 */
int block_file__write_head(struct block_file *f, const void *head, size_t size);
/* A block of this kind around the payload, whose size is a multiple of 8. */
int block_file__append(struct block_file *f, uint32_t kind, const void *payload, size_t bytes);
/* The same of a payload with room for the header in front of it. */
int block_file__append_in_place(struct block_file *f, uint32_t kind, struct noise_block *block,
				size_t bytes);

#endif
