// SPDX-License-Identifier: Apache-2.0
/* Figures of many groups of durations, in one pass: noisetop._tables.add_up and its like. */
#define Py_LIMITED_API 0x030b0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>

#include "column.h"
#include "histogram.h"
#include "tables.h"

#define BLOCK 256

/* A row of noisetop/tables/group_sums.py. */
struct sums {
	int64_t count, total_ns, largest_ns, largest_start_ns;
};

/* What a group has: `bytes` for each. */
struct figures {
	Py_buffer view;
	bool given;
};

static int figures_open(struct figures *f, PyObject *object, Py_ssize_t bytes, Py_ssize_t groups)
{
	if (object == Py_None)
		return 0;
	if (PyObject_GetBuffer(object, &f->view, PyBUF_WRITABLE))
		return -1;
	f->given = true;
	if (f->view.len == groups * bytes)
		return 0;
	PyErr_SetString(PyExc_ValueError, "all figures are of as many groups");
	return -1;
}

static void figures_close(struct figures *f)
{
	if (f->given)
		PyBuffer_Release(&f->view);
}

static void add_one(struct sums *sums, int64_t duration_ns, int64_t start_ns)
{
	sums->count++;
	/* What a damaged file holds wraps. */
	sums->total_ns = (uint64_t)sums->total_ns + (uint64_t)duration_ns;
	if (duration_ns < sums->largest_ns)
		return;
	if (duration_ns > sums->largest_ns || start_ns < sums->largest_start_ns)
		sums->largest_start_ns = start_ns;
	sums->largest_ns = duration_ns;
}

/* Values of a block of rows: group, duration or beginning, beginning. False: an unknown group. */
static bool block_of(const struct columns *columns, Py_ssize_t begin, Py_ssize_t count,
		     Py_ssize_t groups, uint64_t values[][BLOCK])
{
	for (int i = 0; i < columns->size; i++)
		column__copy(&columns->column[i], begin, count, values[i]);
	for (Py_ssize_t i = 0; i < count; i++)
		if (values[0][i] >= (uint64_t)groups)
			return false;
	return true;
}

static bool add_rows(const struct columns *columns, Py_ssize_t groups, void *figures,
		     int64_t *histogram)
{
	struct sums *sums = figures;
	uint64_t values[3][BLOCK];
	for (Py_ssize_t begin = 0; begin < columns->rows; begin += BLOCK) {
		Py_ssize_t rest = columns->rows - begin, count = rest < BLOCK ? rest : BLOCK;
		if (!block_of(columns, begin, count, groups, values))
			return false;
		for (Py_ssize_t i = 0; i < count; i++)
			add_one(&sums[values[0][i]], values[1][i], values[2][i]);
		for (Py_ssize_t i = 0; histogram && i < count; i++)
			histogram[values[0][i] * HISTOGRAM_BUCKETS + bucket_of(values[1][i])]++;
	}
	return true;
}

static bool add_gap_rows(const struct columns *columns, Py_ssize_t groups, void *figures,
			 int64_t *histogram)
{
	int64_t *last_ns = figures;
	uint64_t values[2][BLOCK];
	for (Py_ssize_t begin = 0; begin < columns->rows; begin += BLOCK) {
		Py_ssize_t rest = columns->rows - begin, count = rest < BLOCK ? rest : BLOCK;
		if (!block_of(columns, begin, count, groups, values))
			return false;
		for (Py_ssize_t i = 0; i < count; i++) {
			uint64_t group = values[0][i];
			int64_t start_ns = values[1][i], last = last_ns[group];
			if (histogram && last >= 0 && start_ns > last)
				histogram[group * HISTOGRAM_BUCKETS + bucket_of(start_ns - last)]++;
			if (start_ns > last)
				last_ns[group] = start_ns;
		}
	}
	return true;
}

typedef bool add_function(const struct columns *columns, Py_ssize_t groups, void *figures,
			  int64_t *histogram);

/* What all passes take: so many columns, so many bytes of figures for each group, a histogram. */
static PyObject *run(PyObject *args, int width, Py_ssize_t bytes, add_function *add)
{
	PyObject *sequence, *figures_object, *histogram_object;
	struct columns columns;
	struct figures figures = {0}, histogram = {0};
	bool known = true;
	if (!PyArg_ParseTuple(args, "OOO", &sequence, &figures_object, &histogram_object) ||
	    columns__open(&columns, sequence, width))
		return NULL;
	Py_ssize_t groups = PyObject_Size(figures_object);
	if (groups >= 0 && !figures_open(&figures, figures_object, bytes, groups) &&
	    !figures_open(&histogram, histogram_object, HISTOGRAM_BUCKETS * 8, groups)) {
		Py_BEGIN_ALLOW_THREADS;
		known = add(&columns, groups, figures.view.buf,
			    histogram.given ? histogram.view.buf : NULL);
		Py_END_ALLOW_THREADS;
	}
	figures_close(&figures);
	figures_close(&histogram);
	columns__close(&columns);
	if (!known)
		PyErr_SetString(PyExc_ValueError, "a group without figures");
	if (PyErr_Occurred())
		return NULL;
	Py_RETURN_NONE;
}

PyObject *tables_add_up(PyObject *self, PyObject *args)
{
	return run(args, 3, sizeof(struct sums), add_rows);
}

PyObject *tables_add_gaps(PyObject *self, PyObject *args)
{
	return run(args, 2, sizeof(int64_t), add_gap_rows);
}

PyObject *tables_buckets(PyObject *self, PyObject *args)
{
	PyObject *durations;
	Py_buffer out;
	struct column column;
	if (!PyArg_ParseTuple(args, "Ow*", &durations, &out))
		return NULL;
	int err = column__open(&column, durations);
	if (!err && out.len != column.count * (Py_ssize_t)sizeof(int64_t)) {
		PyErr_SetString(PyExc_ValueError, "an int64 for each duration");
		column__close(&column);
		err = -1;
	}
	if (!err) {
		uint64_t *values = out.buf;
		column__copy(&column, 0, column.count, values);
		for (Py_ssize_t i = 0; i < column.count; i++)
			values[i] = bucket_of(values[i]);
		column__close(&column);
	}
	PyBuffer_Release(&out);
	if (err)
		return NULL;
	Py_RETURN_NONE;
}
