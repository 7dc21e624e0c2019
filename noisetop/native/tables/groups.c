// SPDX-License-Identifier: Apache-2.0
/* Numbers for combinations of integers: noisetop._tables.Groups. */
#define Py_LIMITED_API 0x030b0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdlib.h>

#include "column.h"
#include "group_table.h"
#include "tables.h"

#define BLOCK 256

struct groups {
	PyObject_HEAD struct group_table table;
	bool busy;
};

/* The rows where new combinations first occur. */
struct fresh {
	Py_ssize_t *rows;
	size_t count, room;
};

static int note(struct fresh *fresh, Py_ssize_t row)
{
	if (fresh->count == fresh->room) {
		size_t room = fresh->room ? 2 * fresh->room : BLOCK;
		Py_ssize_t *rows = realloc(fresh->rows, room * sizeof(*rows));
		if (!rows)
			return -1;
		fresh->rows = rows;
		fresh->room = room;
	}
	fresh->rows[fresh->count++] = row;
	return 0;
}

/* Keys and hashes of the rows from `begin` on; column by column, as each hash waits for itself. */
static void gather(const struct columns *columns, Py_ssize_t begin, Py_ssize_t count,
		   uint64_t *keys, uint64_t *hashes)
{
	int width = columns->size;
	memset(hashes, 0, count * sizeof(*hashes));
	for (int column = 0; column < width; column++) {
		uint64_t *key = keys + column;
		COLUMN_EACH(&columns->column[column], begin, count, {
			key[i * width] = value;
			hashes[i] = group_table__mix(hashes[i], value);
		});
	}
}

static int number_rows(struct group_table *table, const struct columns *columns, uint32_t *numbers,
		       struct fresh *fresh)
{
	uint64_t keys[BLOCK * COLUMN_MAX], hashes[BLOCK];
	for (Py_ssize_t begin = 0; begin < columns->rows; begin += BLOCK) {
		Py_ssize_t rest = columns->rows - begin, count = rest < BLOCK ? rest : BLOCK;
		gather(columns, begin, count, keys, hashes);
		for (Py_ssize_t i = 0; i < count; i++) {
			uint32_t used = table->used;
			int64_t number = group_table__number(table, keys + i * table->width,
							     hashes[i], true);
			if (number < 0 || (table->used > used && note(fresh, begin + i)))
				return -1;
			numbers[begin + i] = number;
		}
	}
	return 0;
}

static PyObject *list_of(const struct fresh *fresh)
{
	PyObject *list = PyList_New(fresh->count);
	for (size_t i = 0; list && i < fresh->count; i++) {
		PyObject *row = PyLong_FromSsize_t(fresh->rows[i]);
		if (!row || PyList_SetItem(list, i, row))
			Py_CLEAR(list);
	}
	return list;
}

/* Numbers of the rows into a buffer of uint32. */
static int run(struct groups *g, PyObject *args, struct fresh *fresh)
{
	PyObject *sequence;
	Py_buffer out;
	struct columns columns;
	int err = 0;
	if (!PyArg_ParseTuple(args, "Ow*", &sequence, &out))
		return -1;
	if (columns__open(&columns, sequence, g->table.width)) {
		PyBuffer_Release(&out);
		return -1;
	}
	if (g->busy || out.len != columns.rows * (Py_ssize_t)sizeof(uint32_t)) {
		PyErr_SetString(PyExc_ValueError,
				"one thread at a time, and a uint32 for each row");
		err = -1;
	} else {
		g->busy = true;
		Py_BEGIN_ALLOW_THREADS;
		err = number_rows(&g->table, &columns, out.buf, fresh);
		Py_END_ALLOW_THREADS;
		g->busy = false;
		if (err)
			PyErr_NoMemory();
	}
	columns__close(&columns);
	PyBuffer_Release(&out);
	return err;
}

static PyObject *groups_numbers(PyObject *self, PyObject *args)
{
	struct fresh fresh = {0};
	int err = run((struct groups *)self, args, &fresh);
	PyObject *list = err ? NULL : list_of(&fresh);
	free(fresh.rows);
	return list;
}

static int groups_init(PyObject *self, PyObject *args, PyObject *kwargs)
{
	struct groups *g = (struct groups *)self;
	static char *names[] = {"width", NULL};
	int width;
	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "i", names, &width))
		return -1;
	if (g->table.width || width < 1 || width > COLUMN_MAX) {
		PyErr_Format(PyExc_ValueError, "1 to %d columns", COLUMN_MAX);
		return -1;
	}
	g->table.width = width;
	return 0;
}

static void groups_dealloc(PyObject *self)
{
	struct groups *g = (struct groups *)self;
	PyTypeObject *type = Py_TYPE(self);
	group_table__destroy(&g->table);
	freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
	release(self);
	Py_DECREF(type);
}

static PyMethodDef methods[] = {
	{"numbers", groups_numbers, METH_VARARGS,
	 "numbers(columns, out) -> list[int]\n\nThe rows where new combinations first occur."},
	{NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
	{Py_tp_init, groups_init},
	{Py_tp_dealloc, groups_dealloc},
	{Py_tp_methods, methods},
	{Py_tp_doc, "Groups(width)\n\nNumbers combinations of integers as they come."},
	{0, NULL},
};

static PyType_Spec spec = {
	.name = "noisetop._tables.Groups",
	.basicsize = sizeof(struct groups),
	.flags = Py_TPFLAGS_DEFAULT,
	.slots = slots,
};

int groups__add_to(PyObject *module)
{
	PyObject *type = PyType_FromSpec(&spec);
	int err = type ? PyModule_AddObjectRef(module, "Groups", type) : -1;
	Py_XDECREF(type);
	return err;
}
