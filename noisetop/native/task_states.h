/* SPDX-License-Identifier: Apache-2.0 */
/* What the programs keep for each task: see bpf/task_state.bpf.h. */
#ifndef NOISETOP_TASK_STATES_H
#define NOISETOP_TASK_STATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "noise.h"

struct bpf_map;

/* Zero until it is mapped. */
struct task_states {
	const struct noise_task *places; /* mapped: the map noise_tasks */
	size_t bytes;
	int owners_fd;  /* the map noise_owners */
	int crowded_fd; /* the map noise_crowded */
};

/* 0 or -errno. */
int task_states__map(struct task_states *states, const struct bpf_map *places,
		     const struct bpf_map *owners, const struct bpf_map *crowded);
bool task_states__knows(const struct task_states *states, uint32_t tid);
/* Calls `visit` for each task until one returns an error, which is returned; else 0 or -errno. */
int task_states__walk(const struct task_states *states,
		      int (*visit)(const struct noise_task *task, void *context), void *context);
void task_states__unmap(struct task_states *states);

#endif
