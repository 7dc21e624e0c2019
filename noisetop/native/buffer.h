/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that grow as needed. */
#ifndef NOISETOP_BUFFER_H
#define NOISETOP_BUFFER_H

#include <stddef.h>

/* Zero at first; whoever has it frees `data`. */
struct buffer {
	char *data;
	size_t size;
	size_t capacity;
};

/* Room for so many bytes more. 0 or -ENOMEM, and then it holds what it held before. */
int buffer__reserve(struct buffer *buffer, size_t size);
/* The same, and fills it. */
int buffer__append(struct buffer *buffer, const void *bytes, size_t size);

#endif
