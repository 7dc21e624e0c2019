/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NOISETOP_PROBE_H
#define NOISETOP_PROBE_H

#include <Python.h>

/* Adds the functions of the active probes to the module. */
int probe__add_to(PyObject *module);

#endif
