// SPDX-License-Identifier: Apache-2.0
/* Checksums of what is read: noisetop._tables.crc32c. */
#define Py_LIMITED_API 0x030b0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "crc32c.h"
#include "tables.h"

PyObject *tables_crc32c(PyObject *self, PyObject *args)
{
	unsigned int crc = 0;
	Py_buffer content;
	if (!PyArg_ParseTuple(args, "y*|I", &content, &crc))
		return NULL;
	Py_BEGIN_ALLOW_THREADS;
	crc = crc32c(crc, content.buf, content.len);
	Py_END_ALLOW_THREADS;
	PyBuffer_Release(&content);
	return PyLong_FromUnsignedLong(crc);
}
