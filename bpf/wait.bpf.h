/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How many victims wait for a CPU, since when, and who woke them. */
#ifndef NOISETOP_WAIT_BPF_H
#define NOISETOP_WAIT_BPF_H

#include "noise.bpf.h"
#include "task_state.bpf.h"
#include "trigger.bpf.h"

/* Whether what a CPU does now interrupts a thread, by its open levels. */
static __always_inline bool wait_interrupted(u32 levels)
{
	return levels & ~(LEVEL_BIT(THREAD) | LEVEL_BIT(WORK));
}

/*
 * Now, and the closed time as of now, with what has passed by then of an interruption that is open:
 * the wake-up may come from it. False where something changed meanwhile, as another CPU may ask.
 */
static __always_inline bool wait_read_clock(struct noise_cpu *c, u64 *now_ns, u64 *closed_ns)
{
	u32 levels = READ_ONCE(c->open_levels);
	struct noise_frame *frame = levels & LEVEL_BIT(SOFTIRQ) ? &c->frames[NOISE_LEVEL_SOFTIRQ]
								: &c->frames[NOISE_LEVEL_IRQ];
	u64 start_ns = READ_ONCE(frame->start_ns), closed = noise_closed(c);
	u64 before_ns = READ_ONCE(frame->closed_ns);
	*now_ns = bpf_ktime_get_ns();
	*closed_ns = wait_interrupted(levels) ? before_ns + *now_ns - start_ns : closed;
	return closed == noise_closed(c) && start_ns == READ_ONCE(frame->start_ns) &&
	       levels == READ_ONCE(c->open_levels);
}

/* Out of line, as threads wake most of them. No loop: Linux 5.10 refuses one that follows a call. */
NOISE_FUNCTION u64 wait_now_interrupted(u32 cpu)
{
	struct noise_cpu *c = noise_find_cpu(cpu);
	u64 now_ns, closed_ns;
	if (!c)
		return 0;
	if (!wait_read_clock(c, &now_ns, &closed_ns))
		wait_read_clock(c, &now_ns, &closed_ns);
	c->wait_closed_ns = closed_ns;
	return now_ns;
}

/* Now, and sets the closed time as of now. */
static __always_inline u64 wait_now(struct noise_cpu *c)
{
	if (wait_interrupted(READ_ONCE(c->open_levels)))
		return wait_now_interrupted(c->cpu);
	u64 closed_ns = noise_closed(c), now_ns = bpf_ktime_get_ns();
	if (closed_ns != noise_closed(c) || wait_interrupted(READ_ONCE(c->open_levels)))
		return wait_now_interrupted(c->cpu);
	c->wait_closed_ns = closed_ns;
	return now_ns;
}

/* How many victims wait for a CPU. Not above 0: none, as some may have been counted out twice. */
static __always_inline int wait_count(struct noise_cpu *c)
{
	return c->waiting + READ_ONCE(c->waiting_moved);
}

/*
 * Counts those that wait for a CPU. Wake-ups (ttwu_do_activate(), ttwu_runnable() and
 * wake_up_new_task() in kernel/sched/core.c) and switches on that CPU are reported under the lock of
 * its run queue, which spares an atomic instruction; all else may be told by another CPU meanwhile.
 */
static __always_inline void wait_add(struct noise_cpu *c, int count, bool locked)
{
	if (locked)
		c->waiting += count;
	else
		__sync_fetch_and_add(&c->waiting_moved, count);
}

/* Counts a task among those that wait for a CPU; see wait_add(). */
static __always_inline void wait_join(struct noise_cpu *c, u32 cpu, struct noise_task *state,
				      u32 tid, bool locked)
{
	state->wait_cpu = cpu;
	state->epoch = c->wait_epoch;
	if (c->waiting_tid != tid)
		c->waiting_next = c->waiting_tid;
	c->waiting_tid = tid;
	if (state->wait == NOISE_WAIT_THROTTLED + 1)
		__sync_fetch_and_add(&c->throttled, 1);
	else
		wait_add(c, 1, locked);
}

/* The reverse, unless the count was cleared in between. */
static __always_inline void wait_leave(struct noise_cpu *c, struct noise_task *state, bool locked)
{
	if (state->wait == NOISE_WAIT_THROTTLED + 1)
		__sync_fetch_and_add(&c->throttled, -1);
	else if (state->epoch == c->wait_epoch)
		wait_add(c, -1, locked);
}

/* The wait begins now; the first one is that of the CPU, too. */
static __always_inline void wait_since(struct noise_cpu *c, struct noise_task *state)
{
	if (wait_count(c) > 0) {
		state->since_ns = bpf_ktime_get_ns();
		return;
	}
	state->since_ns = wait_now(c);
	c->wait_since_ns = state->since_ns;
}

/* Since when a task waits is set. */
static __always_inline void wait_begin_since(struct noise_cpu *c, u32 cpu, struct noise_task *state,
					     struct task_struct *task, u32 why, bool locked)
{
	if (why == NOISE_WAIT_WOKEN && !state->slept_ns && state->left_ns)
		state->slept_ns = state->since_ns - state->left_ns;
	state->left_ns = 0;
	state->standing = 0;
	state->wait = (kernel_task_throttled(task, cpu) ? NOISE_WAIT_THROTTLED : why) + 1;
	wait_join(c, cpu, state, FIELD(task, pid), locked);
}

static __always_inline void wait_begin(struct noise_cpu *c, u32 cpu, struct noise_task *state,
				       struct task_struct *task, u32 why, bool locked)
{
	wait_since(c, state);
	wait_begin_since(c, cpu, state, task, why, locked);
}

/* The same for a task that is switched out: its wait begins at the moment of the switch. */
static __always_inline void wait_begin_at(struct noise_cpu *c, struct noise_task *state,
					  struct task_struct *task,
					  const struct noise_moment *moment)
{
	state->since_ns = moment->now_ns;
	if (wait_count(c) <= 0) {
		c->wait_closed_ns = moment->closed_ns;
		c->wait_since_ns = moment->now_ns;
	}
	wait_begin_since(c, c->cpu, state, task, NOISE_WAIT_PREEMPTED, true);
}

/* It waits no more for the CPU that it was counted for; `c` is this CPU. */
static __always_inline void wait_uncount(struct noise_cpu *c, struct noise_task *state,
					 bool switches)
{
	if (switches && state->wait_cpu == c->cpu) {
		wait_leave(c, state, true);
	} else {
		struct noise_cpu *waited = noise_find_cpu(state->wait_cpu);
		if (waited)
			wait_leave(waited, state, false);
	}
	state->wait = 0;
}

/*
 * Ends and records the wait of a task that went on at `until_ns`; `c` is this CPU, and `switches`
 * whether it does so now.
 */
static __always_inline void wait_end_on(struct noise_cpu *c, struct noise_task *state, u32 tid,
					u64 until_ns, u32 cpu, u32 flags, bool switches)
{
	u32 writer, wait = state->wait - 1;
	wait_uncount(c, state, switches);
	struct noise_event *event = noise_claim(c, &writer, 1);
	if (event) {
		event->start_ns = state->since_ns;
		event->gross_ns = until_ns > state->since_ns ? until_ns - state->since_ns : 0;
		event->net_ns = 0;
		event->id = wait == NOISE_WAIT_WOKEN ? state->waker : 0;
		event->object = state->slept_ns;
		event->tid = tid;
		event->victim_tid = tid;
		event->cpu = cpu;
		event->parent_id = state->waker_cpu;
		event->source = thread_source;
		event->parent_source = thread_source;
		event->level = wait;
		event->flags = NOISE_FLAG_WAIT | flags;
	}
	noise_commit(c, event, writer);
	state->slept_ns = 0;
}

static __always_inline void wait_end(struct noise_cpu *c, struct noise_task *state, u32 tid,
				     u64 until_ns)
{
	wait_end_on(c, state, tid, until_ns, c->cpu, 0, true);
}

/* The task has ended or leaves the watched CPUs, perhaps in its sleep; `c` is this CPU. */
static __always_inline void wait_exit(struct noise_cpu *c, struct noise_task *state, u32 tid)
{
	u64 now_ns = bpf_ktime_get_ns();
	struct noise_event event = {
		.start_ns = now_ns,
		.object = state->left_ns ? now_ns - state->left_ns : 0,
		.tid = tid,
		.victim_tid = tid,
		.cpu = c->cpu,
		.source = thread_source,
		.parent_source = thread_source,
		.level = NOISE_WAIT_EXITED,
		.flags = NOISE_FLAG_WAIT,
	};
	state->left_ns = 0;
	noise_record(c, &event);
}

/* No victim waits for this CPU, whatever the count: it is idle, or a switch was not reported. */
static __always_inline void wait_clear(struct noise_cpu *c)
{
	if (wait_count(c)) {
		c->wait_epoch++;
		c->waiting = 0;
		c->waiting_moved = 0;
	}
}

/* Notes that `c`, which is this CPU, wakes a task, in this context. Whether a task does. */
static __always_inline bool wait_note_waker(struct noise_cpu *c, struct noise_task *state,
					    struct task_struct *current, u32 context)
{
	u32 tid = context == NOISE_CONTEXT_TASK ? KERNEL_CURRENT(current, pid) : 0;
	state->waker = tid ? tid : NOISE_WAKER_CONTEXT + context;
	state->waker_cpu = c->cpu;
	return tid;
}

/*
 * A wake-up is queued for another CPU, which carries it out some time later, with an object that
 * lies inside the task. The waker's name goes with the trigger.
 */
static __always_inline void wait_note_queued(struct noise_cpu *c, u64 csd,
					     struct task_struct *current, u32 context)
{
	struct noise_task *state = task_state(c, kernel_tid_to_wake(csd, noise_casts_known), true);
	if (!state)
		return;
	wait_note_waker(c, state, current, context);
	state->wakeup_queued = 1;
}

#endif
