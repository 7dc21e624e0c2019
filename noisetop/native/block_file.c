// SPDX-License-Identifier: Apache-2.0
#include "block_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "noise.h"

int block_file__write(int fd, const void *bytes, size_t size)
{
	off_t start = lseek(fd, 0, SEEK_CUR);
	const char *next = bytes;
	size_t left = size;
	while (left) {
		ssize_t written = write(fd, next, left);
		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0) {
			int err = written < 0 ? -errno : -EIO;
			if (!ftruncate(fd, start))
				lseek(fd, start, SEEK_SET);
			return err;
		}
		next += written;
		left -= written;
	}
	return 0;
}

int block_file__write_block(int fd, uint32_t kind, const void *payload, size_t bytes)
{
	struct noise_block *block = malloc(sizeof(*block) + bytes);
	if (!block)
		return -ENOMEM;
	block->magic = NOISE_BLOCK_MAGIC;
	block->kind = kind;
	block->bytes = bytes;
	memcpy(block + 1, payload, bytes);
	int err = block_file__write(fd, block, sizeof(*block) + bytes);
	free(block);
	return err;
}
