/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The state kept for a task. Its place is given by the low bits of its tid and is found without a
 * call: a hash takes several, and each return takes long where the kernel guards it (retbleed, SRSO).
 * A place belongs to whoever is first; the others are in a hash.
 */
#ifndef NOISETOP_TASK_STATE_BPF_H
#define NOISETOP_TASK_STATE_BPF_H

#include "noise.bpf.h"

static __always_inline struct noise_task *task_state_place(u32 tid)
{
	u32 index = tid & (NOISE_TASK_PLACES - 1);
	return bpf_map_lookup_elem(&noise_tasks, &index);
}

/* Whether the place of a task belongs to it from now on. Two CPUs may ask at the same time. */
static __always_inline bool task_state_owns(u32 tid)
{
	u32 index = tid & (NOISE_TASK_PLACES - 1);
	if (!bpf_map_update_elem(&noise_owners, &index, &tid, BPF_NOEXIST))
		return true;
	u32 *owner = bpf_map_lookup_elem(&noise_owners, &index);
	return owner && *owner == tid;
}

/* The state of a task whose place is not its own, yet or for good. */
static __noinline struct noise_task *task_state_elsewhere(u32 tid, bool create)
{
	struct noise_task *place = task_state_place(tid);
	struct noise_task *state = bpf_map_lookup_elem(&noise_crowded, &tid);
	if (!place || !tid || state || !create)
		return state;
	if (task_state_owns(tid)) {
		place->tid = tid; /* the rest was cleared when it became free */
		return place;
	}
	struct noise_task fresh = {.tid = tid};
	place->crowded = 1;
	bpf_map_update_elem(&noise_crowded, &tid, &fresh, BPF_NOEXIST);
	return bpf_map_lookup_elem(&noise_crowded, &tid);
}

/* The state of a task, or NULL. Created on request; no room for it counts as a loss. */
static __always_inline struct noise_task *task_state(struct noise_cpu *c, u32 tid, bool create)
{
	struct noise_task *state = task_state_place(tid);
	if (!state || state->tid == tid)
		return state;
	if (!create && !state->crowded)
		return NULL;
	state = task_state_elsewhere(tid, create);
	if (!state && create)
		noise_lose(c, NOISE_LOSS_STATE);
	return state;
}

/* The task is gone. */
static __always_inline void task_state_free(u32 tid)
{
	u32 index = tid & (NOISE_TASK_PLACES - 1);
	struct noise_task *place = task_state_place(tid);
	if (!place)
		return;
	if (place->crowded)
		bpf_map_delete_elem(&noise_crowded, &tid);
	if (!tid || place->tid != tid)
		return;
	struct noise_task cleared = {.crowded = place->crowded};
	*place = cleared;
	bpf_map_delete_elem(&noise_owners, &index);
}

#endif
