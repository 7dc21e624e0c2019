// SPDX-License-Identifier: Apache-2.0
/* The Python face of a join: noisetop._tables.AsOfJoin. */
#define Py_LIMITED_API 0x030b0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdlib.h>

#include "column.h"
#include "tables.h"
#include "as_of_join.h"

struct as_of_join_object {
	PyObject_HEAD struct as_of_join join;
	bool busy;
};

/* Keys and moments of a call, one after another. */
struct asked {
	size_t count;
	uint64_t *keys, *times_ns;
};

static int asked_open(struct asked *asked, PyObject *sequence)
{
	asked->keys = columns__arrays(sequence, 2, &asked->count);
	if (!asked->keys)
		return -1;
	asked->times_ns = asked->keys + asked->count;
	return 0;
}

/* Whether the buffer has a row for each that was asked, and no other thread is at work. */
static bool fits(const struct as_of_join_object *b, const Py_buffer *rows,
		 const struct asked *asked)
{
	if (!b->busy && rows->len == (Py_ssize_t)(asked->count * b->join.row_bytes))
		return true;
	PyErr_SetString(PyExc_ValueError, "one thread at a time, and a row for each key");
	return false;
}

static PyObject *join_add(PyObject *self, PyObject *args)
{
	struct as_of_join_object *b = (struct as_of_join_object *)self;
	struct asked asked = {0};
	PyObject *columns;
	Py_buffer rows;
	int err = -1;
	if (!PyArg_ParseTuple(args, "Oy*", &columns, &rows))
		return NULL;
	if (!asked_open(&asked, columns) && fits(b, &rows, &asked)) {
		b->busy = true;
		Py_BEGIN_ALLOW_THREADS;
		err = as_of_join__prune(&b->join) ||
		      as_of_join__add(&b->join, rows.buf, asked.keys, asked.times_ns, asked.count);
		Py_END_ALLOW_THREADS;
		b->busy = false;
		if (err)
			PyErr_NoMemory();
	}
	free(asked.keys);
	PyBuffer_Release(&rows);
	if (err)
		return NULL;
	Py_RETURN_NONE;
}

/* Copies what was found; one byte for each tells whether anything was. */
static int answer(struct as_of_join *b, const struct asked *asked, bool once, char *rows,
		  char *found)
{
	uint32_t *row = malloc((asked->count + 1) * sizeof(*row));
	if (!row)
		return -1;
	as_of_join__find(b, asked->keys, asked->times_ns, asked->count, once, row);
	for (size_t i = 0; i < asked->count; i++) {
		found[i] = row[i] != AS_OF_JOIN_NONE;
		if (found[i])
			memcpy(rows + i * b->row_bytes, b->rows + row[i] * b->row_bytes,
			       b->row_bytes);
	}
	free(row);
	return 0;
}

static PyObject *join_find(PyObject *self, PyObject *args)
{
	struct as_of_join_object *b = (struct as_of_join_object *)self;
	struct asked asked = {0};
	PyObject *columns, *found = NULL;
	Py_buffer rows;
	int once, err = -1;
	if (!PyArg_ParseTuple(args, "Opw*", &columns, &once, &rows))
		return NULL;
	if (!asked_open(&asked, columns) && fits(b, &rows, &asked))
		found = PyBytes_FromStringAndSize(NULL, asked.count);
	if (found) {
		char *flags = PyBytes_AsString(found);
		b->busy = true;
		Py_BEGIN_ALLOW_THREADS;
		err = answer(&b->join, &asked, once, rows.buf, flags);
		Py_END_ALLOW_THREADS;
		b->busy = false;
	}
	if (found && err) {
		Py_CLEAR(found);
		PyErr_NoMemory();
	}
	free(asked.keys);
	PyBuffer_Release(&rows);
	return found;
}

static Py_ssize_t join_length(PyObject *self)
{
	return ((struct as_of_join_object *)self)->join.row_count;
}

static PyObject *join_sizeof(PyObject *self, PyObject *none)
{
	const struct as_of_join_object *b = (struct as_of_join_object *)self;
	(void)none;
	return PyLong_FromSize_t(sizeof(*b) + as_of_join__bytes(&b->join));
}

static int join_init(PyObject *self, PyObject *args, PyObject *kwargs)
{
	struct as_of_join *b = &((struct as_of_join_object *)self)->join;
	static char *names[] = {"row_bytes", "recent_ns", "remembered", NULL};
	Py_ssize_t row_bytes;
	unsigned long long recent_ns;
	unsigned int remembered;
	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "nKI", names, &row_bytes, &recent_ns,
					 &remembered))
		return -1;
	if (b->row_bytes || row_bytes <= 0) {
		PyErr_SetString(PyExc_ValueError, "rows have at least a byte");
		return -1;
	}
	b->row_bytes = row_bytes;
	b->recent_ns = recent_ns;
	b->remembered = remembered;
	b->keys.width = 1;
	return 0;
}

static void join_dealloc(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);
	as_of_join__destroy(&((struct as_of_join_object *)self)->join);
	freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
	release(self);
	Py_DECREF(type);
}

static PyMethodDef methods[] = {
	{"add", join_add, METH_VARARGS, "add((keys, times), rows) -> None"},
	{"find", join_find, METH_VARARGS,
	 "find((keys, before), once, out) -> bytes\n\nWrites what was found; a byte for each "
	 "tells."},
	{"__sizeof__", join_sizeof, METH_NOARGS, "__sizeof__() -> int\n\nIts memory in bytes."},
	{NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
	{Py_tp_init, join_init},
	{Py_tp_dealloc, join_dealloc},
	{Py_tp_methods, methods},
	{Py_sq_length, join_length},
	{Py_tp_doc, "AsOfJoin(row_bytes, recent_ns, remembered)"},
	{0, NULL},
};

static PyType_Spec spec = {
	.name = "noisetop._tables.AsOfJoin",
	.basicsize = sizeof(struct as_of_join_object),
	.flags = Py_TPFLAGS_DEFAULT,
	.slots = slots,
};

int as_of_join__add_to(PyObject *module)
{
	PyObject *type = PyType_FromSpec(&spec);
	int err = type ? PyModule_AddObjectRef(module, "AsOfJoin", type) : -1;
	Py_XDECREF(type);
	return err;
}
