/* SPDX-License-Identifier: Apache-2.0 */
/* The clock of the programs that time blocks of what they do. */
#ifndef NOISETOP_BENCH_CLOCK_H
#define NOISETOP_BENCH_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

#endif
