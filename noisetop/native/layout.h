/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NOISETOP_LAYOUT_H
#define NOISETOP_LAYOUT_H

#include <Python.h>

/* layout() of _native.pyi. */
PyObject *native_layout(PyObject *self, PyObject *unused);

#endif
