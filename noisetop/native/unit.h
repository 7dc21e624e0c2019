/* SPDX-License-Identifier: Apache-2.0 */
/* What a unit of the sources takes from a tracer that is open. */
#ifndef NOISETOP_NATIVE_UNIT_H
#define NOISETOP_NATIVE_UNIT_H

#include "tracer.h"

/* {"knobs": {name: value or (offset, bytes)}, "maps": {name: descriptor}, "constants": descriptor} */
PyObject *unit__describe(struct tracer *t);

#endif
