// SPDX-License-Identifier: Apache-2.0
#define Py_LIMITED_API 0x030b0000
#include <Python.h>

#include <errno.h>

#include "capabilities.h"
#include "host_tasks.h"
#include "layout.h"
#include "libbpf_log.h"
#include "probe/probe.h"
#include "session.h"
#include "translation_unit.h"

static PyObject *native_permitted_capabilities(PyObject *module, PyObject *unused)
{
	uint64_t permitted;
	int err = capabilities__permitted(&permitted);
	if (err) {
		errno = -err;
		return PyErr_SetFromErrno(PyExc_OSError);
	}
	return PyLong_FromUnsignedLongLong(permitted);
}

static PyObject *native_set_capabilities(PyObject *module, PyObject *args)
{
	unsigned long long effective, permitted;
	if (!PyArg_ParseTuple(args, "KK", &effective, &permitted))
		return NULL;
	int err = capabilities__set(effective, permitted);
	if (err) {
		errno = -err;
		return PyErr_SetFromErrno(PyExc_OSError);
	}
	Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
	{"permitted_capabilities", native_permitted_capabilities, METH_NOARGS,
	 "permitted_capabilities() -> int\n\nOf this thread, a bit for each."},
	{"set_capabilities", native_set_capabilities, METH_VARARGS,
	 "set_capabilities(effective, permitted)\n\nOf this thread, a bit for each."},
	{"layout", native_layout, METH_NOARGS,
	 "layout() -> dict\n\nStructs, enums and sources of the BPF object, from its BTF."},
	{"host_tasks", native_host_tasks, METH_NOARGS,
	 "host_tasks() -> list[tuple]\n\nNumber, host's number and level of its control group."},
	{"programs", native_programs, METH_NOARGS,
	 "programs() -> dict\n\nThe sections of the BPF object's programs by their names."},
	{NULL, NULL, 0, NULL},
};

static int execute(PyObject *module)
{
	libbpf_log__capture();
	return session__add_to(module) || probe__add_to(module) ? -1 : 0;
}

static PyModuleDef_Slot slots[] = {
	{Py_mod_exec, execute},
	{0, NULL},
};

static struct PyModuleDef definition = {
	.m_base = PyModuleDef_HEAD_INIT,
	.m_name = "noisetop._native",
	.m_doc = "The BPF object, its life cycle and its rings.",
	.m_methods = methods,
	.m_slots = slots,
};

PyMODINIT_FUNC PyInit__native(void)
{
	return PyModuleDef_Init(&definition);
}
