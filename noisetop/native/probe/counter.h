/* SPDX-License-Identifier: Apache-2.0 */
/* The counter that a spinning thread reads: the TSC on x86, the virtual counter on arm64. */
#ifndef NOISETOP_COUNTER_H
#define NOISETOP_COUNTER_H

#include <stdint.h>

#if defined(__x86_64__)

static inline uint64_t counter_now(void)
{
	uint32_t low, high;
	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return (uint64_t)high << 32 | low;
}

/* Waits for everything before it, and nothing after it begins earlier (Intel SDM, RDTSCP). */
static inline uint64_t counter_now_fenced(void)
{
	uint32_t low, high, aux;
	__asm__ volatile("rdtscp\n\tlfence" : "=a"(low), "=d"(high), "=c"(aux)::"memory");
	return (uint64_t)high << 32 | low;
}

#elif defined(__aarch64__)

static inline uint64_t counter_now(void)
{
	uint64_t ticks;
	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks;
}

static inline uint64_t counter_now_fenced(void)
{
	uint64_t ticks;
	__asm__ volatile("isb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(ticks)::"memory");
	return ticks;
}

#else
#error "noisetop runs on x86-64 and arm64"
#endif

/* One moment on both clocks: ns lies between the two readings of the counter. */
struct clock_pair {
	uint64_t before_ticks;
	uint64_t ns; /* CLOCK_MONOTONIC */
	uint64_t after_ticks;
};

#endif
