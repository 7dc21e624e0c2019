/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NOISETOP_SESSION_H
#define NOISETOP_SESSION_H

#include <Python.h>

/* Adds the Session type and TracerError to the module. */
int session__add_to(PyObject *module);

#endif
