// SPDX-License-Identifier: Apache-2.0
/* How long nothing went on before a row: noisetop._tables.rests. */
#define Py_LIMITED_API 0x030b0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>
#include <stdlib.h>

#include "column.h"
#include "tables.h"

enum { GROUP, START, LENGTH, MARKS, COLUMNS };

struct rows {
	uint64_t *column[COLUMNS];
	size_t count;
	uint8_t considered, counted; /* marks: looked at at all; ends a rest for those after it */
};

struct by_end {
	uint64_t end_ns;
	size_t row;
};

static uint64_t end_of(const struct rows *rows, size_t row)
{
	return rows->column[START][row] + rows->column[LENGTH][row];
}

static void look(const struct rows *rows, size_t row, int64_t *last, int64_t *rests)
{
	int64_t *ended = &last[rows->column[GROUP][row]];
	rests[row] = rows->column[START][row] - (uint64_t)*ended;
	if (rows->column[MARKS][row] & rows->counted)
		*ended = end_of(rows, row);
}

static bool is_considered(const struct rows *rows, size_t row)
{
	return rows->column[MARKS][row] & rows->considered;
}

/* Whether the rows of each group are in the order of their ends. `newest_ns`: zeros, by group. */
static bool are_in_order(const struct rows *rows, uint64_t *newest_ns)
{
	for (size_t row = 0; row < rows->count; row++) {
		uint64_t *before_ns = &newest_ns[rows->column[GROUP][row]];
		if (!is_considered(rows, row))
			continue;
		if (end_of(rows, row) < *before_ns)
			return false;
		*before_ns = end_of(rows, row);
	}
	return true;
}

/* Of those that end at one moment the first one comes first. */
static int compare(const void *one, const void *other)
{
	const struct by_end *a = one, *b = other;
	if (a->end_ns != b->end_ns)
		return a->end_ns < b->end_ns ? -1 : 1;
	return a->row < b->row ? -1 : a->row > b->row;
}

static int look_by_end(const struct rows *rows, int64_t *last, int64_t *rests)
{
	struct by_end *order = malloc((rows->count + 1) * sizeof(*order));
	size_t count = 0;
	if (!order)
		return -1;
	for (size_t row = 0; row < rows->count; row++)
		if (is_considered(rows, row))
			order[count++] = (struct by_end){end_of(rows, row), row};
	qsort(order, count, sizeof(*order), compare);
	for (size_t i = 0; i < count; i++)
		look(rows, order[i].row, last, rests);
	free(order);
	return 0;
}

static int look_at_all(const struct rows *rows, size_t groups, int64_t *last, int64_t *rests)
{
	uint64_t *newest_ns = calloc(groups + 1, sizeof(*newest_ns));
	bool in_order = newest_ns && are_in_order(rows, newest_ns);
	free(newest_ns);
	if (!in_order)
		return look_by_end(rows, last, rests);
	for (size_t row = 0; row < rows->count; row++)
		if (is_considered(rows, row))
			look(rows, row, last, rests);
	return 0;
}

static int fill(const struct rows *rows, const Py_buffer *last, const Py_buffer *rests)
{
	size_t groups = last->len / sizeof(int64_t);
	bool known = rests->len == (Py_ssize_t)(rows->count * sizeof(int64_t));
	int err;
	for (size_t row = 0; known && row < rows->count; row++)
		known = rows->column[GROUP][row] < groups;
	if (!known) {
		PyErr_SetString(PyExc_ValueError, "a last end for each group, a rest for each row");
		return -1;
	}
	memset(rests->buf, 0, rests->len);
	Py_BEGIN_ALLOW_THREADS;
	err = look_at_all(rows, groups, last->buf, rests->buf);
	Py_END_ALLOW_THREADS;
	if (err)
		PyErr_NoMemory();
	return err;
}

PyObject *tables_rests(PyObject *self, PyObject *args)
{
	PyObject *columns;
	Py_buffer last, rests;
	struct rows rows;
	if (!PyArg_ParseTuple(args, "O(bb)w*w*", &columns, &rows.considered, &rows.counted, &last,
			      &rests))
		return NULL;
	uint64_t *values = columns__arrays(columns, COLUMNS, &rows.count);
	for (int i = 0; values && i < COLUMNS; i++)
		rows.column[i] = values + i * rows.count;
	int err = values ? fill(&rows, &last, &rests) : -1;
	free(values);
	PyBuffer_Release(&last);
	PyBuffer_Release(&rests);
	if (err)
		return NULL;
	Py_RETURN_NONE;
}
