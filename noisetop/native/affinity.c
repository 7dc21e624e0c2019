// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "affinity.h"

#include <errno.h>
#include <sched.h>

#include "noise.h"

#define WORD_BITS (8 * sizeof(unsigned long))

int affinity__pin(int cpu)
{
	unsigned long mask[NOISE_MAX_CPUS / WORD_BITS] = {0};
	if (cpu < 0 || cpu >= NOISE_MAX_CPUS)
		return -EINVAL;
	mask[cpu / WORD_BITS] = 1ul << cpu % WORD_BITS;
	return sched_setaffinity(0, sizeof(mask), (cpu_set_t *)mask) ? -errno : 0;
}
