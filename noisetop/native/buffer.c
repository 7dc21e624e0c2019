// SPDX-License-Identifier: Apache-2.0
#include "buffer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int buffer__reserve(struct buffer *buffer, size_t size)
{
	if (buffer->size + size <= buffer->capacity)
		return 0;
	size_t capacity = buffer->capacity ? buffer->capacity * 2 : 1 << 16;
	while (capacity < buffer->size + size)
		capacity *= 2;
	char *data = realloc(buffer->data, capacity);
	if (!data)
		return -ENOMEM;
	buffer->data = data;
	buffer->capacity = capacity;
	return 0;
}

int buffer__append(struct buffer *buffer, const void *bytes, size_t size)
{
	int err = buffer__reserve(buffer, size);
	if (err)
		return err;
	memcpy(buffer->data + buffer->size, bytes, size);
	buffer->size += size;
	return 0;
}
