// SPDX-License-Identifier: Apache-2.0
/* Packs and unpacks the records of a file: noisetop._tables.pack_records and unpack_records. */
#define Py_LIMITED_API 0x030b0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "packed_records.h"
#include "tables.h"

/* Whether the buffers fit; else an exception is set. */
static int check(const Py_buffer *state, const Py_buffer *records)
{
	if (state->len == sizeof(struct packing) && records->len % PACKED_RECORD_BYTES == 0)
		return 1;
	PyErr_Format(PyExc_ValueError, "last must have %zu bytes and a record %zu",
		     sizeof(struct packing), PACKED_RECORD_BYTES);
	return 0;
}

static PyObject *pack(const Py_buffer *records, Py_ssize_t at, const Py_buffer *state)
{
	size_t count = records->len / PACKED_RECORD_BYTES;
	if (at < 0 || at >= (Py_ssize_t)PACKED_RECORD_BYTES) {
		PyErr_SetString(PyExc_ValueError, "at must lie in a record");
		return NULL;
	}
	uint8_t *packed = PyMem_Malloc(count * PACKED_MOST_BYTES);
	if (!packed)
		return PyErr_NoMemory();
	size_t size;
	Py_BEGIN_ALLOW_THREADS;
	size = packed_records__pack(state->buf, records->buf, count, at, packed);
	Py_END_ALLOW_THREADS;
	PyObject *bytes = PyBytes_FromStringAndSize((char *)packed, size);
	PyMem_Free(packed);
	return bytes;
}

PyObject *tables_pack_records(PyObject *self, PyObject *args)
{
	Py_ssize_t at;
	Py_buffer records, state;
	if (!PyArg_ParseTuple(args, "y*nw*", &records, &at, &state))
		return NULL;
	PyObject *packed = check(&state, &records) ? pack(&records, at, &state) : NULL;
	PyBuffer_Release(&records);
	PyBuffer_Release(&state);
	return packed;
}

static PyObject *unpack(const Py_buffer *packed, Py_ssize_t at, const Py_buffer *state,
			const Py_buffer *records)
{
	size_t count = records->len / PACKED_RECORD_BYTES, taken = 0;
	if (count && at >= 0 && at <= packed->len) {
		Py_BEGIN_ALLOW_THREADS;
		taken = packed_records__unpack(state->buf, (uint8_t *)packed->buf + at,
					       packed->len - at, count, records->buf);
		Py_END_ALLOW_THREADS;
	}
	if (taken || !count)
		return PyLong_FromSsize_t(at + taken);
	PyErr_SetString(PyExc_ValueError, "packed records are fewer than told");
	return NULL;
}

PyObject *tables_unpack_records(PyObject *self, PyObject *args)
{
	Py_ssize_t at;
	Py_buffer packed, state, records;
	if (!PyArg_ParseTuple(args, "y*nw*w*", &packed, &at, &state, &records))
		return NULL;
	PyObject *end = check(&state, &records) ? unpack(&packed, at, &state, &records) : NULL;
	PyBuffer_Release(&packed);
	PyBuffer_Release(&state);
	PyBuffer_Release(&records);
	return end;
}
