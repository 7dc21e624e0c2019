/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Page faults come from software events of perf, which are opened on each watched CPU. With a fixed
 * period of 1 they need neither a timer nor the tick.
 */
#ifndef NOISETOP_FAULT_H
#define NOISETOP_FAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct noisetop_bpf;

/* Open events on the watched CPUs; zero at first. */
struct fault_events {
	int *fds;
	size_t count;
};

/* Before the object is loaded. 0 or -errno. */
int fault__configure(struct noisetop_bpf *skeleton, bool wanted);
/* 0 or -errno; what was opened until then is for fault__detach(). */
int fault__attach(struct fault_events *events, const struct noisetop_bpf *skeleton,
		  const uint32_t *cpus, size_t count);
void fault__detach(struct fault_events *events);

#endif
