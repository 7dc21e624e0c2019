/* SPDX-License-Identifier: Apache-2.0 */
/* The states and rings of all CPUs, mapped into this process. */
#ifndef NOISETOP_RINGS_H
#define NOISETOP_RINGS_H

#include <stddef.h>
#include <stdint.h>

#include "noise.h"

struct bpf_map;

/* Zero until it is filled. */
struct rings {
	uint32_t *cpus; /* the watched ones first */
	size_t watched_count;
	size_t cpu_count;            /* with those from which triggers come */
	uint32_t watched_records;    /* of the first ring of a watched CPU, a power of two */
	struct noise_cpu *states;    /* mapped, by CPU number */
	struct noise_event *records; /* mapped */
	size_t states_bytes;
	size_t records_bytes;
};

/* Copies the CPUs. 0 or -errno. */
int rings__init(struct rings *rings, const uint32_t *cpus, size_t watched_count, size_t cpu_count,
		uint32_t watched_records);
/* The state of the CPU at a place of `cpus`. */
static inline struct noise_cpu *rings__state(const struct rings *rings, size_t place)
{
	return &rings->states[rings->cpus[place]];
}

/* States up to the last CPU. */
uint32_t rings__states(const struct rings *rings);
/* Records that all rings need together. */
uint32_t rings__capacity(const struct rings *rings);
/* Maps both arrays and writes into each state where its rings lie. 0 or -errno. */
int rings__map(struct rings *rings, const struct bpf_map *states, const struct bpf_map *records);
/* What was written into all rings so far, read or not. */
uint64_t rings__written(const struct rings *rings);
void rings__destroy(struct rings *rings);

#endif
