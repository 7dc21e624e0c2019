/* SPDX-License-Identifier: Apache-2.0 */
/* Bandwidth and latency of memory on one node, seen from one CPU. No Python in here. */
#ifndef NOISETOP_NUMA_H
#define NOISETOP_NUMA_H

#include <stddef.h>
#include <stdint.h>

enum numa_kernel {
	NUMA_KERNEL_COPY,  /* c = a */
	NUMA_KERNEL_SCALE, /* b = s * c */
	NUMA_KERNEL_ADD,   /* c = a + b */
	NUMA_KERNEL_TRIAD, /* a = b + s * c */
	NUMA_KERNELS,
};

#define NUMA_MAX_REPEATS 1000

struct numa_config {
	int cpu;
	int node;           /* -1: wherever the kernel puts it */
	size_t array_bytes; /* of each of the three arrays, a multiple of 64 */
	uint32_t repeats;
};

struct numa_result {
	uint64_t kernel_ns[NUMA_KERNELS][NUMA_MAX_REPEATS];
	double access_ns[NUMA_MAX_REPEATS]; /* one dependent load from memory */
	const char *step;                   /* what failed */
};

/* Runs in a thread of its own on config->cpu; 0 or -errno. */
int numa__measure(const struct numa_config *config, struct numa_result *result);

#endif
