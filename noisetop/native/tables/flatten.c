// SPDX-License-Identifier: Apache-2.0
/* Which of several nested intervals a moment belongs to: noisetop._tables.flatten. */
#define Py_LIMITED_API 0x030b0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>

#include "column.h"
#include "tables.h"

#define DEPTH 64

struct segment {
	uint64_t start, end, row;
};

struct flattener {
	struct segment *out;
	Py_ssize_t count, room;
	uint64_t until; /* what lies before is told */
	uint64_t ends[DEPTH], rows[DEPTH];
	int depth;
};

/* The innermost interval has the time up to `end`. */
static void tell(struct flattener *f, uint64_t end)
{
	if (end <= f->until)
		return;
	if (f->count < f->room)
		f->out[f->count] = (struct segment){f->until, end, f->rows[f->depth - 1]};
	f->count++;
	f->until = end;
}

/* Ends what has ended by then. */
static void leave(struct flattener *f, uint64_t now)
{
	while (f->depth && f->ends[f->depth - 1] <= now) {
		tell(f, f->ends[f->depth - 1]);
		f->depth--;
	}
}

static void enter(struct flattener *f, uint64_t start, uint64_t end, uint64_t row)
{
	leave(f, start);
	if (f->depth)
		tell(f, start);
	if (start > f->until)
		f->until = start;
	if (f->depth == DEPTH)
		f->depth--;
	f->ends[f->depth] = end;
	f->rows[f->depth++] = row;
}

/*
 * flatten((starts, ends), out): intervals in the order of their start, the outer of two that start
 * together first. Writes start, end and row of each segment into `out`, three uint64 each, and
 * returns how many there are.
 */
PyObject *tables_flatten(PyObject *self, PyObject *args)
{
	PyObject *pair, *object, *result = NULL;
	struct columns columns;
	struct flattener f = {0};
	Py_buffer out;
	if (!PyArg_ParseTuple(args, "OO", &pair, &object) || columns__open(&columns, pair, 2))
		return NULL;
	if (!PyObject_GetBuffer(object, &out, PyBUF_WRITABLE)) {
		f.out = out.buf;
		f.room = out.len / (Py_ssize_t)sizeof(*f.out);
		for (Py_ssize_t i = 0; i < columns.rows; i++) {
			uint64_t start, end;
			column__copy(&columns.column[0], i, 1, &start);
			column__copy(&columns.column[1], i, 1, &end);
			enter(&f, start, end, i);
		}
		leave(&f, UINT64_MAX);
		PyBuffer_Release(&out);
		if (f.count <= f.room)
			result = PyLong_FromSsize_t(f.count);
		else
			PyErr_SetString(PyExc_ValueError, "no room for all segments");
	}
	columns__close(&columns);
	return result;
}
