/* SPDX-License-Identifier: Apache-2.0 */
/* The life of the BPF object: open, load, attach, drain, destroy. No Python in here. */
#ifndef NOISETOP_TRACER_H
#define NOISETOP_TRACER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bcc_loader.h"
#include "drain.h"
#include "fault.h"
#include "refusals.h"
#include "rings.h"
#include "selection.h"
#include "task_states.h"
#include "tracer_error.h"
#include "twins.h"

struct noisetop_bpf;

struct tracer_config {
	const uint32_t *cpus; /* the watched ones first; only for tracer__open() */
	size_t watched_count;
	size_t cpu_count; /* with those from which triggers come */
	uint32_t victims; /* enum noise_victims */
	uint32_t victim_tgid;
	uint64_t victim_cgroup;
	uint32_t victim_cgroup_level;
	uint64_t csd_callback; /* address of the kernel's function for queued calls, 0: not known */
	uint64_t tick_function; /* that of the tick's timer, 0: not known */
	bool stacks;
	struct selection selection; /* its text must outlive the tracer */
	bool compiled;              /* the programs come from BCC: bcc_loader.h */
	uint32_t ring_records;      /* per watched CPU, a power of two; the others have fewer */
	struct drain_config drain;
};

/* Zero until it is opened. */
struct tracer {
	struct tracer_config config;
	struct noisetop_bpf *skeleton;
	struct refusals refusals;
	struct bcc_loader bcc;
	struct rings rings;
	struct task_states tasks;
	struct fault_events faults;
	struct twins twins;
	struct drain drain;
};

/* 0 or -errno, and then the error says which step failed. */
int tracer__open(struct tracer *t, const struct tracer_config *config, struct tracer_error *error);
int tracer__load(struct tracer *t, struct tracer_error *error);
int tracer__attach(struct tracer *t, struct tracer_error *error);
/* What begins from the moment that is returned on counts, and waits that had begun before. */
uint64_t tracer__start_window(struct tracer *t);
void tracer__destroy(struct tracer *t);

#endif
