/* SPDX-License-Identifier: Apache-2.0 */
/* What the embedded object declares, for the compiler of the same programs: tracing/bcc.py. */
#ifndef NOISETOP_TRANSLATION_UNIT_H
#define NOISETOP_TRANSLATION_UNIT_H

#include <Python.h>

struct noisetop_bpf;

/* programs() of _native.pyi. */
PyObject *native_programs(PyObject *self, PyObject *unused);
/* Session.translation_unit() of _native.pyi, from an object whose maps are created. */
PyObject *translation_unit__describe(const struct noisetop_bpf *skeleton);

#endif
