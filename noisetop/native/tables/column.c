// SPDX-License-Identifier: Apache-2.0
#define Py_LIMITED_API 0x030b0000
#include <Python.h>

#include <stdlib.h>

#include "column.h"

int column__open(struct column *c, PyObject *object)
{
	if (PyObject_GetBuffer(object, &c->view, PyBUF_STRIDED_RO))
		return -1;
	Py_ssize_t bytes = c->view.itemsize;
	if (c->view.ndim == 1 && (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8)) {
		c->first = c->view.buf;
		c->count = c->view.shape[0];
		c->stride = c->view.strides[0];
		return 0;
	}
	PyBuffer_Release(&c->view);
	PyErr_SetString(PyExc_ValueError, "a column is one row of integers");
	return -1;
}

void column__close(struct column *c)
{
	PyBuffer_Release(&c->view);
}

int columns__open(struct columns *c, PyObject *sequence, int size)
{
	Py_ssize_t given = PySequence_Size(sequence);
	c->size = 0;
	for (; given == size && c->size < size; c->size++) {
		PyObject *object = PySequence_GetItem(sequence, c->size);
		int err = object ? column__open(&c->column[c->size], object) : -1;
		Py_XDECREF(object);
		if (err)
			break;
		if (c->column[c->size].count != c->column[0].count) {
			PyErr_SetString(PyExc_ValueError, "columns are of one length");
			c->size++;
			break;
		}
	}
	if (!PyErr_Occurred() && size > 0 && c->size == size) {
		c->rows = c->column[0].count;
		return 0;
	}
	if (!PyErr_Occurred())
		PyErr_Format(PyExc_ValueError, "%d columns are wanted", size);
	columns__close(c);
	return -1;
}

void columns__close(struct columns *c)
{
	while (c->size)
		column__close(&c->column[--c->size]);
}

void column__copy(const struct column *c, Py_ssize_t begin, Py_ssize_t count, uint64_t *values)
{
	COLUMN_EACH(c, begin, count, values[i] = value);
}

uint64_t *columns__arrays(PyObject *sequence, int size, size_t *count)
{
	struct columns columns;
	if (columns__open(&columns, sequence, size))
		return NULL;
	*count = columns.rows;
	uint64_t *arrays = malloc((size * *count + 1) * sizeof(*arrays));
	for (int column = 0; arrays && column < size; column++)
		column__copy(&columns.column[column], 0, columns.rows, arrays + column * *count);
	columns__close(&columns);
	if (!arrays)
		PyErr_NoMemory();
	return arrays;
}
