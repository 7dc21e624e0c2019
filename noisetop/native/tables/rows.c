// SPDX-License-Identifier: Apache-2.0
/* Rows of different kinds that come in one stream: noisetop._tables.split_by_kind. */
#define Py_LIMITED_API 0x030b0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "tables.h"

#define KINDS_MAX 8

struct splitting {
	Py_ssize_t row_bytes, at; /* where in a row the byte with its kind lies */
	uint8_t mask;
	size_t kinds;
	uint8_t kind[KINDS_MAX];
	Py_ssize_t rows[KINDS_MAX];
	char *to[KINDS_MAX], *end[KINDS_MAX];
	size_t pieces;
	Py_buffer *piece;
};

/* The number of its kind for each value of the byte; KINDS_MAX: not wanted. */
static void number_kinds(const struct splitting *s, uint8_t number_of[256])
{
	for (int value = 0; value < 256; value++) {
		number_of[value] = KINDS_MAX;
		for (size_t i = 0; i < s->kinds; i++)
			if ((value & s->mask) == s->kind[i])
				number_of[value] = i;
	}
}

static void count_rows(struct splitting *s)
{
	uint8_t number_of[256];
	Py_ssize_t rows[KINDS_MAX + 1] = {0};
	number_kinds(s, number_of);
	for (size_t i = 0; i < s->pieces; i++) {
		const uint8_t *row = s->piece[i].buf, *end = row + s->piece[i].len;
		for (; row < end; row += s->row_bytes)
			rows[number_of[row[s->at]]]++;
	}
	memcpy(s->rows, rows, sizeof(s->rows));
}

/* False: other rows than were counted, as somebody writes to them. */
static bool copy_rows(struct splitting *s)
{
	uint8_t number_of[256];
	number_kinds(s, number_of);
	for (size_t i = 0; i < s->pieces; i++) {
		const uint8_t *row = s->piece[i].buf, *end = row + s->piece[i].len;
		for (; row < end; row += s->row_bytes) {
			uint8_t kind = number_of[row[s->at]];
			if (kind == KINDS_MAX)
				continue;
			if (s->to[kind] == s->end[kind])
				return false;
			memcpy(s->to[kind], row, s->row_bytes);
			s->to[kind] += s->row_bytes;
		}
	}
	return !memcmp(s->to, s->end, sizeof(s->to));
}

static int open_pieces(struct splitting *s, PyObject *sequence)
{
	Py_ssize_t count = PySequence_Size(sequence);
	s->piece = count < 0 ? NULL : PyMem_Calloc(count + 1, sizeof(*s->piece));
	if (!s->piece)
		return -1;
	for (Py_ssize_t i = 0; i < count; i++, s->pieces++) {
		PyObject *object = PySequence_GetItem(sequence, i);
		int err = object ? PyObject_GetBuffer(object, &s->piece[i], PyBUF_SIMPLE) : -1;
		Py_XDECREF(object);
		if (err)
			return -1;
		if (s->piece[i].len % s->row_bytes) {
			PyErr_SetString(PyExc_ValueError, "a piece ends within a row");
			s->pieces++;
			return -1;
		}
	}
	return 0;
}

static PyObject *split(struct splitting *s)
{
	PyObject *result = PyTuple_New(s->kinds);
	Py_BEGIN_ALLOW_THREADS;
	count_rows(s);
	Py_END_ALLOW_THREADS;
	for (size_t i = 0; result && i < s->kinds; i++) {
		Py_ssize_t bytes = s->rows[i] * s->row_bytes;
		PyObject *rows = PyBytes_FromStringAndSize(NULL, bytes);
		s->to[i] = rows ? PyBytes_AsString(rows) : NULL;
		s->end[i] = rows ? s->to[i] + bytes : NULL;
		if (!rows || PyTuple_SetItem(result, i, rows))
			Py_CLEAR(result);
	}
	bool unchanged = true;
	if (result) {
		Py_BEGIN_ALLOW_THREADS;
		unchanged = copy_rows(s);
		Py_END_ALLOW_THREADS;
	}
	if (!unchanged) {
		Py_CLEAR(result);
		PyErr_SetString(PyExc_ValueError, "rows changed while they were read");
	}
	return result;
}

PyObject *tables_split_by_kind(PyObject *self, PyObject *args)
{
	struct splitting s = {0};
	PyObject *pieces, *result = NULL;
	const char *kinds;
	Py_ssize_t kind_count;
	if (!PyArg_ParseTuple(args, "Onnby#", &pieces, &s.row_bytes, &s.at, &s.mask, &kinds,
			      &kind_count))
		return NULL;
	if (s.at < 0 || s.at >= s.row_bytes || kind_count > KINDS_MAX)
		return PyErr_Format(PyExc_ValueError, "a byte of the row, and at most %d kinds",
				    KINDS_MAX);
	s.kinds = kind_count;
	memcpy(s.kind, kinds, kind_count);
	if (!open_pieces(&s, pieces))
		result = split(&s);
	while (s.pieces)
		PyBuffer_Release(&s.piece[--s.pieces]);
	PyMem_Free(s.piece);
	return result;
}
