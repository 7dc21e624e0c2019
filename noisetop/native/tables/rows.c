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

/* The rows of a kind, in blocks of which all but the last are full. */
struct output {
	Py_ssize_t bytes, blocks, next;
	char **block;
	char *to, *end; /* of the block that is written */
};

struct splitting {
	Py_ssize_t row_bytes, at; /* where in a row the byte with its kind lies */
	Py_ssize_t block_bytes;
	uint8_t mask;
	size_t kinds;
	uint8_t kind[KINDS_MAX];
	struct output output[KINDS_MAX];
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
	for (size_t i = 0; i < s->kinds; i++)
		s->output[i].bytes = rows[i] * s->row_bytes;
}

/* False: there is none left. */
static bool next_block(const struct splitting *s, struct output *o)
{
	Py_ssize_t left = o->bytes - o->next * s->block_bytes;
	if (o->next == o->blocks)
		return false;
	o->to = o->block[o->next++];
	o->end = o->to + (left < s->block_bytes ? left : s->block_bytes);
	return true;
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
			struct output *o = &s->output[kind];
			if (o->to == o->end && !next_block(s, o))
				return false;
			memcpy(o->to, row, s->row_bytes);
			o->to += s->row_bytes;
		}
	}
	for (size_t i = 0; i < s->kinds; i++)
		if (s->output[i].to != s->output[i].end || s->output[i].next != s->output[i].blocks)
			return false;
	return true;
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

/* A list of bytes, to be written. */
static PyObject *new_blocks(const struct splitting *s, struct output *o)
{
	o->blocks = o->bytes / s->block_bytes + (o->bytes % s->block_bytes != 0);
	o->block = PyMem_Calloc(o->blocks + 1, sizeof(*o->block));
	PyObject *list = o->block ? PyList_New(o->blocks) : PyErr_NoMemory();
	for (Py_ssize_t i = 0; list && i < o->blocks; i++) {
		Py_ssize_t left = o->bytes - i * s->block_bytes;
		Py_ssize_t bytes = left < s->block_bytes ? left : s->block_bytes;
		PyObject *block = PyBytes_FromStringAndSize(NULL, bytes);
		o->block[i] = block ? PyBytes_AsString(block) : NULL;
		if (!block || PyList_SetItem(list, i, block))
			Py_CLEAR(list);
	}
	return list;
}

static PyObject *split(struct splitting *s)
{
	PyObject *result = PyTuple_New(s->kinds);
	Py_BEGIN_ALLOW_THREADS;
	count_rows(s);
	Py_END_ALLOW_THREADS;
	for (size_t i = 0; result && i < s->kinds; i++) {
		PyObject *blocks = new_blocks(s, &s->output[i]);
		if (!blocks || PyTuple_SetItem(result, i, blocks))
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
	Py_ssize_t kind_count, block_rows;
	if (!PyArg_ParseTuple(args, "Onnby#n", &pieces, &s.row_bytes, &s.at, &s.mask, &kinds,
			      &kind_count, &block_rows))
		return NULL;
	if (s.at < 0 || s.at >= s.row_bytes || kind_count > KINDS_MAX || block_rows <= 0 ||
	    block_rows > PY_SSIZE_T_MAX / s.row_bytes)
		return PyErr_Format(PyExc_ValueError,
				    "a byte of the row, at most %d kinds, and blocks of rows",
				    KINDS_MAX);
	s.block_bytes = block_rows * s.row_bytes;
	s.kinds = kind_count;
	memcpy(s.kind, kinds, kind_count);
	if (!open_pieces(&s, pieces))
		result = split(&s);
	while (s.pieces)
		PyBuffer_Release(&s.piece[--s.pieces]);
	for (size_t i = 0; i < s.kinds; i++)
		PyMem_Free(s.output[i].block);
	PyMem_Free(s.piece);
	return result;
}
