/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's clocks in ns. Inline: the active probes read them between two counter readings. */
#ifndef NOISETOP_CLOCK_H
#define NOISETOP_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NS_PER_S 1000000000ull

static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}

static inline uint64_t monotonic_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static inline struct timespec timespec_of(uint64_t ns)
{
	return (struct timespec){ns / NS_PER_S, ns % NS_PER_S};
}

#endif
