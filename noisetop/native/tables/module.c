// SPDX-License-Identifier: Apache-2.0
#define Py_LIMITED_API 0x030b0000
#include <Python.h>

#include "histogram.h"
#include "tables.h"

static PyMethodDef methods[] = {
	{"split_by_kind", tables_split_by_kind, METH_VARARGS,
	 "split_by_kind(pieces, row_bytes, at, mask, kinds, block_rows) -> tuple[list[bytes], ...]"
	 "\n\nRows by kind."},
	{"add_up", tables_add_up, METH_VARARGS,
	 "add_up((groups, durations, starts), sums, histogram) -> None"},
	{"flatten", tables_flatten, METH_VARARGS,
	 "flatten((starts, ends), out) -> int\n\nNested intervals as segments."},
	{"shares", tables_shares, METH_VARARGS,
	 "shares((owners, starts, ends), (starts, ends, kinds), competing, switch_ns, left) -> "
	 "bytes\n\nWhat took the time of waits."},
	{"add_gaps", tables_add_gaps, METH_VARARGS,
	 "add_gaps((groups, starts), last, histogram) -> None"},
	{"rests", tables_rests, METH_VARARGS,
	 "rests((groups, starts, lengths, marks), (considered, counted), last, out) -> None"},
	{"buckets", tables_buckets, METH_VARARGS, "buckets(durations, out) -> None"},
	{"crc32c", tables_crc32c, METH_VARARGS, "crc32c(content, crc=0) -> int"},
	{"pack_records", tables_pack_records, METH_VARARGS,
	 "pack_records(records, at, last) -> bytes"},
	{"unpack_records", tables_unpack_records, METH_VARARGS,
	 "unpack_records(packed, at, last, records) -> int"},
	{NULL, NULL, 0, NULL},
};

static int execute(PyObject *module)
{
	if (groups__add_to(module) || as_of_join__add_to(module) || thread_times__add_to(module) ||
	    PyModule_AddIntConstant(module, "STEP_BITS", HISTOGRAM_STEP_BITS) ||
	    PyModule_AddIntConstant(module, "BUCKETS", HISTOGRAM_BUCKETS))
		return -1;
	return 0;
}

static PyModuleDef_Slot slots[] = {
	{Py_mod_exec, execute},
	{0, NULL},
};

static struct PyModuleDef definition = {
	.m_base = PyModuleDef_HEAD_INIT,
	.m_name = "noisetop._tables",
	.m_doc = "What goes through every row of a table.",
	.m_methods = methods,
	.m_slots = slots,
};

PyMODINIT_FUNC PyInit__tables(void)
{
	return PyModuleDef_Init(&definition);
}
