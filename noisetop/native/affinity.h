/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NOISETOP_AFFINITY_H
#define NOISETOP_AFFINITY_H

/* Pins the calling thread to a CPU. 0 or -errno. Allocates nothing, so it may follow a fork. */
int affinity__pin(int cpu);

#endif
