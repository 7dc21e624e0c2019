/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How many victims wait for a CPU, and the state kept for each. */
#ifndef NOISETOP_WAIT_BPF_H
#define NOISETOP_WAIT_BPF_H

#include "noise.bpf.h"

/* The state kept for a task, or NULL. Created on request; no room for it counts as a loss. */
static __always_inline struct noise_task *wait_state(struct noise_cpu *c, u32 tid, bool create)
{
	struct noise_task *state = bpf_map_lookup_elem(&noise_tasks, &tid);
	if (state || !create)
		return state;
	struct noise_task fresh = {};
	bpf_map_update_elem(&noise_tasks, &tid, &fresh, BPF_NOEXIST);
	state = bpf_map_lookup_elem(&noise_tasks, &tid);
	if (!state)
		noise_lose(c, NOISE_LOSS_STATE);
	return state;
}

/* Counts a task among those that wait for a CPU. */
static __always_inline void wait_join(struct noise_cpu *c, struct noise_task *state, u32 tid)
{
	state->wait_cpu = c->cpu;
	state->epoch = c->wait_epoch;
	c->waiting_tid = tid;
	if (state->wait == NOISE_WAIT_THROTTLED + 1)
		__sync_fetch_and_add(&c->throttled, 1);
	else
		__sync_fetch_and_add(&c->waiting, 1);
}

/* The reverse, unless the count was cleared in between. */
static __always_inline void wait_leave(struct noise_task *state)
{
	struct noise_cpu *c = noise_cpu_of(state->wait_cpu);
	if (!c)
		return;
	if (state->wait == NOISE_WAIT_THROTTLED + 1)
		__sync_fetch_and_add(&c->throttled, -1);
	else if (state->epoch == c->wait_epoch)
		__sync_fetch_and_add(&c->waiting, -1);
}

static __always_inline void wait_begin(struct noise_cpu *c, struct noise_task *state,
				       struct task_struct *task, u32 why)
{
	state->since_ns = bpf_ktime_get_ns();
	state->wait = (kernel_task_throttled(task, c->cpu) ? NOISE_WAIT_THROTTLED : why) + 1;
	wait_join(c, state, BPF_CORE_READ(task, pid));
}

/* Ends and records the wait of a task that has run for `ran_ns` since. */
static __always_inline void wait_end(struct noise_cpu *c, struct noise_task *state, u32 tid,
				     u64 ran_ns)
{
	u32 writer, wait = state->wait - 1;
	wait_leave(state);
	state->wait = 0;
	struct noise_event *event = noise_claim(c, &writer, true);
	if (event) {
		event->start_ns = state->since_ns;
		u64 waited_ns = bpf_ktime_get_ns() - state->since_ns;
		event->gross_ns = waited_ns > ran_ns ? waited_ns - ran_ns : 0;
		event->net_ns = 0;
		event->id = wait == NOISE_WAIT_WOKEN ? state->waker : 0;
		event->object = 0;
		event->tid = tid;
		event->victim_tid = tid;
		event->cpu = c->cpu;
		event->parent_id = state->waker_cpu;
		event->source = thread_source;
		event->parent_source = thread_source;
		event->level = wait;
		event->flags = NOISE_FLAG_WAIT;
	}
	noise_commit(c, event, writer);
}

/* No victim waits for this CPU, whatever the count: it is idle, or a switch was not reported. */
static __always_inline void wait_clear(struct noise_cpu *c)
{
	if (c->waiting) {
		c->wait_epoch++;
		c->waiting = 0;
	}
}

#endif
