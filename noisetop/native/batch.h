/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NOISETOP_BATCH_H
#define NOISETOP_BATCH_H

#include <Python.h>

#include "buffer.h"

/* Takes back the memory of a batch that nobody looks at any more; `owner` may have been closed. */
typedef void (*batch_return)(PyObject *owner, struct buffer *rows);

/*
 * A read-only memoryview of the rows, without a copy. Takes the rows over, also where it returns
 * NULL, and gives them to the function when the last view is gone, under the GIL. Keeps the owner.
 */
PyObject *batch__view(PyObject *owner, struct buffer *rows, batch_return give_back);

/* Once for the module. 0 or -1. */
int batch__prepare(void);

#endif
