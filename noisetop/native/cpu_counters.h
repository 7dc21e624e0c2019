/* SPDX-License-Identifier: Apache-2.0 */
/* What the programs count beside events, for each CPU of the rings. */
#ifndef NOISETOP_CPU_COUNTERS_H
#define NOISETOP_CPU_COUNTERS_H

#include <stdint.h>

#include "rings.h"

/* The counts so far. */
void cpu_counters__read(const struct rings *rings, struct noise_cpu_counters *counters);
/*
 * The counts and the moment that they belong to (CLOCK_MONOTONIC, ns). Tried again when this thread
 * was interrupted in between; on a machine that never lets it through the last try counts.
 */
uint64_t cpu_counters__read_at_once(const struct rings *rings, struct noise_cpu_counters *counters);
/* Takes away what had been counted before. */
void cpu_counters__subtract(struct noise_cpu_counters *counters,
			    const struct noise_cpu_counters *before, size_t count);

#endif
