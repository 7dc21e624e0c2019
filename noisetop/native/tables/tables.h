/* SPDX-License-Identifier: Apache-2.0 */
/* What goes through every row of a table, and would go through it several times in NumPy. */
#ifndef NOISETOP_TABLES_H
#define NOISETOP_TABLES_H

int groups__add_to(PyObject *module);
int as_of_join__add_to(PyObject *module);
int thread_times__add_to(PyObject *module);
PyObject *tables_split_by_kind(PyObject *self, PyObject *args);
PyObject *tables_add_up(PyObject *self, PyObject *args);
PyObject *tables_flatten(PyObject *self, PyObject *args);
PyObject *tables_shares(PyObject *self, PyObject *args);
PyObject *tables_add_gaps(PyObject *self, PyObject *args);
PyObject *tables_rests(PyObject *self, PyObject *args);
PyObject *tables_buckets(PyObject *self, PyObject *args);
PyObject *tables_crc32c(PyObject *self, PyObject *args);
PyObject *tables_pack_records(PyObject *self, PyObject *args);
PyObject *tables_unpack_records(PyObject *self, PyObject *args);

#endif
