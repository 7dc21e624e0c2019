/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of unsigned integers as NumPy has them: 1, 2, 4 or 8 bytes each, any stride, not always
 * aligned. */
#ifndef NOISETOP_TABLES_COLUMN_H
#define NOISETOP_TABLES_COLUMN_H

#include <stdint.h>
#include <string.h>

#define COLUMN_MAX 8 /* that are looked at together */

struct column {
	Py_buffer view;
	const char *first;
	Py_ssize_t count, stride;
};

struct columns {
	struct column column[COLUMN_MAX];
	int size;
	Py_ssize_t rows;
};

/* Both raise an exception and return -1 when it is none, or not as many as wanted of one length. */
int column__open(struct column *c, PyObject *object);
int columns__open(struct columns *c, PyObject *sequence, int size);
void column__close(struct column *c);
void columns__close(struct columns *c);

#define COLUMN_LOOP(type, use)                                                                     \
	for (Py_ssize_t i = 0; i < rows_; i++, at_ += stride_) {                                   \
		type value_;                                                                       \
		memcpy(&value_, at_, sizeof(value_));                                              \
		uint64_t value = value_;                                                           \
		use;                                                                               \
	}

/* Does something with the `value` of each row from `begin` on, `i` counting from 0. */
#define COLUMN_EACH(c, begin, count, use)                                                          \
	do {                                                                                       \
		Py_ssize_t stride_ = (c)->stride, rows_ = count;                                   \
		const char *at_ = (c)->first + (begin)*stride_;                                    \
		switch ((c)->view.itemsize) {                                                      \
		case 1:                                                                            \
			COLUMN_LOOP(uint8_t, use);                                                 \
			break;                                                                     \
		case 2:                                                                            \
			COLUMN_LOOP(uint16_t, use);                                                \
			break;                                                                     \
		case 4:                                                                            \
			COLUMN_LOOP(uint32_t, use);                                                \
			break;                                                                     \
		default:                                                                           \
			COLUMN_LOOP(uint64_t, use);                                                \
		}                                                                                  \
	} while (0)

/* Values of the rows from `begin` on. */
void column__copy(const struct column *c, Py_ssize_t begin, Py_ssize_t count, uint64_t *values);

/* Columns as arrays, one after another in one allocation; NULL with an exception. */
uint64_t *columns__arrays(PyObject *sequence, int size, size_t *count);

#endif
