/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NOISETOP_HOST_TASKS_H
#define NOISETOP_HOST_TASKS_H

#include <Python.h>

/* host_tasks() of _native.pyi. */
PyObject *native_host_tasks(PyObject *self, PyObject *unused);

#endif
