/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NOISETOP_MODULE_H
#define NOISETOP_MODULE_H

#include "noise.h"

PyObject *native_layout(PyObject *self, PyObject *unused);
PyObject *native_programs(PyObject *self, PyObject *unused);

/* Adds the Session type and TracerError to the module. */
int session__add_to(PyObject *module);

#endif
