// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "numa.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "affinity.h"
#include "clock.h"

#define LINE_BYTES 64
#define ACCESSES (1u << 20)
#define MAX_NODES 1024
#define POLICY_BIND 2 /* MPOL_BIND, include/uapi/linux/mempolicy.h; libnuma is not needed for it */
#define SCALAR 3.0

/* A cache line at a time, whatever width the machine's registers have. */
typedef double vector __attribute__((vector_size(LINE_BYTES)));

struct arrays {
	vector *a, *b, *c;
	size_t count;
};

struct run {
	const struct numa_config *config;
	struct numa_result *result;
	int err;
};

static void run_kernel(enum numa_kernel kernel, const struct arrays *arrays)
{
	vector *restrict a = arrays->a, *restrict b = arrays->b, *restrict c = arrays->c;
	size_t count = arrays->count;
	switch (kernel) {
	case NUMA_KERNEL_COPY:
		for (size_t i = 0; i < count; i++)
			c[i] = a[i];
		break;
	case NUMA_KERNEL_SCALE:
		for (size_t i = 0; i < count; i++)
			b[i] = SCALAR * c[i];
		break;
	case NUMA_KERNEL_ADD:
		for (size_t i = 0; i < count; i++)
			c[i] = a[i] + b[i];
		break;
	default:
		for (size_t i = 0; i < count; i++)
			a[i] = b[i] + SCALAR * c[i];
	}
	__asm__ volatile("" ::: "memory"); /* the stores are the point */
}

/*
 * Links all lines into one ring in random order (Sattolo), so that neither a prefetcher nor
 * another access can run ahead of the load before it.
 */
static void link_lines(char *memory, size_t lines)
{
	uint64_t random = 88172645463325252ull;
	for (size_t i = 0; i < lines; i++)
		*(uint64_t *)(memory + i * LINE_BYTES) = i;
	for (size_t i = lines - 1; i > 0; i--) {
		random ^= random << 13; /* xorshift64, Marsaglia 2003 */
		random ^= random >> 7;
		random ^= random << 17;
		uint64_t *one = (uint64_t *)(memory + i * LINE_BYTES);
		uint64_t *other = (uint64_t *)(memory + random % i * LINE_BYTES);
		uint64_t kept = *one;
		*one = *other;
		*other = kept;
	}
}

static double measure_access(const char *memory, uint64_t *line)
{
	uint64_t at = *line, began = monotonic_ns();
	for (uint32_t i = 0; i < ACCESSES; i++)
		at = *(const volatile uint64_t *)(memory + at * LINE_BYTES);
	*line = at;
	return (double)(monotonic_ns() - began) / ACCESSES;
}

static void measure_all(const struct numa_config *config, char *memory, struct numa_result *result)
{
	size_t bytes = config->array_bytes;
	struct arrays arrays = {
		.a = (vector *)memory,
		.b = (vector *)(memory + bytes),
		.c = (vector *)(memory + 2 * bytes),
		.count = bytes / sizeof(vector),
	};
	/* The first write puts every page on the bound node. */
	for (size_t i = 0; i < arrays.count; i++) {
		arrays.a[i] = (vector){} + 1.0;
		arrays.b[i] = (vector){} + 2.0;
		arrays.c[i] = (vector){};
	}
	for (uint32_t i = 0; i < config->repeats; i++) {
		for (int kernel = 0; kernel < NUMA_KERNELS; kernel++) {
			uint64_t began = monotonic_ns();
			run_kernel(kernel, &arrays);
			result->kernel_ns[kernel][i] = monotonic_ns() - began;
		}
	}
	uint64_t line = 0;
	link_lines(memory, bytes / LINE_BYTES);
	measure_access(memory, &line); /* fills the TLB as far as it goes */
	for (uint32_t i = 0; i < config->repeats; i++)
		result->access_ns[i] = measure_access(memory, &line);
}

static int bind_memory(void *memory, size_t bytes, int node)
{
	unsigned long nodes[MAX_NODES / (8 * sizeof(unsigned long))] = {0};
	nodes[node / (8 * sizeof(*nodes))] = 1ul << node % (8 * sizeof(*nodes));
	return syscall(SYS_mbind, memory, bytes, POLICY_BIND, nodes, MAX_NODES + 1, 0);
}

static int fail(struct run *run, const char *step, int err)
{
	run->result->step = step;
	run->err = -err;
	return run->err;
}

static int measure_on_this_thread(struct run *run)
{
	const struct numa_config *config = run->config;
	size_t bytes = 3 * config->array_bytes;
	int err = affinity__pin(config->cpu);
	if (err)
		return fail(run, "CPU", -err);
	char *memory =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return fail(run, "memory", errno);
	if (config->node >= 0 && bind_memory(memory, bytes, config->node))
		fail(run, "node", errno);
	else
		measure_all(config, memory, run->result);
	munmap(memory, bytes);
	return run->err;
}

static void *measure_thread(void *argument)
{
	measure_on_this_thread(argument);
	return NULL;
}

int numa__measure(const struct numa_config *config, struct numa_result *result)
{
	struct run run = {.config = config, .result = result};
	pthread_t thread;
	int err = pthread_create(&thread, NULL, measure_thread, &run);
	if (err)
		return fail(&run, "thread", err);
	pthread_join(thread, NULL);
	return run.err;
}
