// SPDX-License-Identifier: Apache-2.0
#include "block_file.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "crc32c.h"
#include "noise.h"

static int write_all(int fd, const void *bytes, size_t size)
{
	const char *next = bytes;
	size_t left = size;
	while (left) {
		ssize_t written = write(fd, next, left);
		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0) {
			int err = written < 0 ? errno : EIO;
			off_t start = lseek(fd, 0, SEEK_CUR) - (off_t)(size - left);
			if (!ftruncate(fd, start))
				lseek(fd, start, SEEK_SET);
			return err;
		}
		next += written;
		left -= written;
	}
	return 0;
}

int block_file__write_head(struct block_file *f, const void *head, size_t size)
{
	if (!f->error)
		f->error = write_all(f->fd, head, size);
	return -f->error;
}

int block_file__append_in_place(struct block_file *f, uint32_t kind, struct noise_block *block,
				size_t bytes)
{
	*block = (struct noise_block){
		.magic = NOISE_BLOCK_MAGIC,
		.kind = kind,
		.bytes = bytes,
		.number = f->blocks,
		.payload = crc32c(0, block + 1, bytes),
	};
	block->checksum = crc32c(0, block, offsetof(struct noise_block, checksum));
	if (!f->error)
		f->error = write_all(f->fd, block, sizeof(*block) + bytes);
	if (!f->error)
		f->blocks++;
	return -f->error;
}

int block_file__append(struct block_file *f, uint32_t kind, const void *payload, size_t bytes)
{
	struct noise_block *block = malloc(sizeof(*block) + bytes);
	if (!block) {
		f->error = ENOMEM;
		return -f->error;
	}
	memcpy(block + 1, payload, bytes);
	int err = block_file__append_in_place(f, kind, block, bytes);
	free(block);
	return err;
}
