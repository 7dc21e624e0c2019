/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NOISETOP_CAPABILITIES_H
#define NOISETOP_CAPABILITIES_H

#include <stdint.h>

/*
 * Sets the capabilities of the calling thread: a bit for each, by its number in linux/capability.h.
 * None is inherited. 0 or -errno: -EPERM where it does not have one of them.
 */
int capabilities__set(uint64_t effective, uint64_t permitted);

/* Leaves the calling thread without any, for good: no program that it runs gets one back. */
void capabilities__give_up(void);

/* The capabilities that the calling thread may use. 0 or -errno. */
int capabilities__permitted(uint64_t *permitted);

#endif
