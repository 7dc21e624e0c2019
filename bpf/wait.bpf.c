// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Victims that could run but do not: since when, why, and who woke them. A wait belongs to its task
 * and follows it to whichever CPU it is moved to.
 */
#include "wait.bpf.h"
#include "noise.bpf.h"
#include "trigger.bpf.h"

/* Whether a task may run on a watched CPU. */
static __always_inline bool wait_may_come(struct task_struct *task)
{
	return !noise_watched_bits ||
	       FIELD(FIELD(task, cpus_ptr), bits[noise_watched_word]) & noise_watched_bits;
}

/*
 * Where sched_wakeup cannot tell all wakers: in the waker's context, whichever CPU the task is going
 * to run on.
 */
SEC("tp_btf/sched_waking")
int wait_waking(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	if (!wait_may_come(task))
		return 0;
	struct noise_cpu *c = noise_acting_cpu();
	if (!c)
		return 0;
	struct task_struct *current = kernel_current();
	struct noise_task *state = task_state(c, FIELD(task, pid), true);
	if (state && wait_note_waker(c, state, current, trigger_context(c, current)))
		trigger_emit_current_name(c, current);
	return 0;
}

/*
 * The waker of a wake-up that happens on `cpu`. It is what this CPU does now, unless the waker had
 * the wake-up queued: then an interrupt of the target or its idle loop wakes the task for somebody
 * else, who was noted when that happened, or is not known.
 */
static __always_inline void wait_tell_waker(struct noise_task *state, u32 cpu, bool queued_is_told)
{
	if (state->wakeup_queued) {
		state->wakeup_queued = 0;
		return;
	}
	struct noise_cpu *c = noise_acting_cpu();
	if (!c)
		return;
	struct task_struct *current = kernel_current();
	if (wait_note_waker(c, state, current, trigger_context(c, current)))
		trigger_emit_current_name(c, current);
	if (queued_is_told || cpu != c->cpu)
		return;
	if (state->waker == NOISE_WAKER_CONTEXT + NOISE_CONTEXT_IRQ ||
	    state->waker == NOISE_WAKER_CONTEXT + NOISE_CONTEXT_TASK)
		state->waker = 0;
}

/*
 * A task is woken on a CPU that is not watched. It may be moved to a watched one before it runs: of
 * those that have been there before, the waker is noted.
 */
static __always_inline struct noise_task *wait_wake_elsewhere(struct task_struct *task, bool born)
{
	if (!noise_own_queued_known() || born || !wait_may_come(task))
		return NULL;
	return task_state(NULL, FIELD(task, pid), false);
}

/* The state of a task whose waker is to be noted. No wait begins for one that still runs or waits. */
static __always_inline struct noise_task *wait_wake_on(u32 cpu, struct task_struct *task, bool born,
						       bool tells)
{
	u32 tid = FIELD(task, pid);
	struct noise_cpu *target = kernel_task_on_cpu(task) ? NULL : noise_watched_cpu(cpu);
	if (!target)
		return NULL;
	if (noise_own_victims() == NOISE_VICTIMS_USERS && target->adopted_tid &&
	    target->adopted_tid == tid &&
	    bpf_ktime_get_ns() - target->spinning_left_ns > NOISE_NAP_NS)
		target->adopted_tid = 0; /* it has slept: an idle CPU, as before */
	bool victim = noise_is_victim_on(target, task, tid, FIELD(task, tgid), FIELD(task, flags));
	struct noise_task *state = victim || tells ? task_state(target, tid, true) : NULL;
	if (state && victim && !state->wait) {
		if (born)
			state->slept_ns = NOISE_SLEPT_NEW;
		wait_begin(target, cpu, state, task, NOISE_WAIT_WOKEN, true);
	}
	return tells ? state : NULL;
}

static __always_inline int wait_wake(struct task_struct *task, bool born)
{
	u32 cpu = kernel_task_cpu(task);
	bool watched = noise_is_watched(cpu), tells = noise_own_wakeup_tells() && !born;
	struct noise_task *state =
		watched ? wait_wake_on(cpu, task, born, tells) : wait_wake_elsewhere(task, born);
	if (state) /* the time is taken by now */
		wait_tell_waker(state, cpu, watched && noise_own_queued_known());
	return 0;
}

SEC("tp_btf/sched_wakeup")
int wait_wakeup(u64 *ctx)
{
	return wait_wake((void *)ctx[0], false);
}

SEC("tp_btf/sched_wakeup_new")
int wait_wakeup_new(u64 *ctx)
{
	return wait_wake((void *)ctx[0], true);
}

/* The task leaves the watched CPUs: where it goes nobody notes who wakes it. */
static __always_inline void wait_forget_waker(struct noise_task *state)
{
	if (state && noise_wakeup_tells_waker)
		state->waker = 0;
}

/*
 * A wait is recorded in segments, one for each CPU, as each is delayed by something else. Outside of
 * the watched CPUs nothing is known of a task: it leaves there, and is a new one when it comes back.
 */
static __noinline int wait_move(struct task_struct *task, u32 from, u32 to)
{
	struct noise_cpu *here = noise_find_this_cpu();
	struct noise_cpu *target = noise_find_cpu(to);
	if (!task || !here || !target)
		return 0;
	u32 tid = FIELD(task, pid);
	struct noise_task *state = task_state(target, tid, false);
	if (!state)
		return 0;
	u32 wait = state->wait;
	if (wait)
		wait_end_on(here, state, tid, bpf_ktime_get_ns(), from, NOISE_FLAG_CONTINUED,
			    false);
	if (target->watch == NOISE_WATCH_NONE) {
		wait_exit(here, state, tid);
		state->slept_ns = NOISE_SLEPT_NEW;
		wait_forget_waker(state);
	} else if (wait) {
		wait_since(target, state);
		state->wait = wait;
		wait_join(target, to, state, tid, false);
	}
	return 0;
}

SEC("tp_btf/sched_migrate_task")
int wait_migrate(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	u32 from = kernel_task_cpu(task), to = ctx[1];
	struct noise_cpu *c = noise_is_watched(from) ? noise_cpu_of(from) : NULL;
	if (!c)
		return 0;
	if (noise_is_victim_on(c, task, FIELD(task, pid), FIELD(task, tgid), FIELD(task, flags)))
		return wait_move(task, from, to);
	if (!noise_is_watched(to))
		wait_forget_waker(task_state(c, FIELD(task, pid), false));
	return 0;
}

#ifndef NOISE_BCC /* which has no iterators: there a wait is known from the task's next switch on */

static __always_inline bool wait_is_over(struct task_struct *task)
{
	return kernel_task_state(task) || kernel_task_on_cpu(task);
}

/*
 * A victim that waits already when the window starts may wait on, all the time. The kernel walks the
 * tasks twice: what the switch of a task at this very moment made wrong, the second walk takes back.
 */
SEC("iter/task")
int wait_find(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	if (!task)
		return 0;
	u32 cpu = kernel_task_cpu(task), tid = FIELD(task, pid);
	struct noise_cpu *c = noise_is_watched(cpu) ? noise_cpu_of(cpu) : NULL;
	if (!c || wait_is_over(task) ||
	    !noise_is_victim_on(c, task, tid, FIELD(task, tgid), FIELD(task, flags)))
		return 0;
	struct noise_task *state = task_state(c, tid, true);
	if (!state || state->wait)
		return 0;
	wait_begin(c, cpu, state, task, NOISE_WAIT_PREEMPTED, false);
	state->standing = 1;
	return 0;
}

SEC("iter/task")
int wait_recheck(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	u32 tid = task ? FIELD(task, pid) : 0;
	struct noise_task *state = task_state(NULL, tid, false);
	if (!task || !state || !state->wait || !wait_is_over(task) || !state->standing)
		return 0;
	struct noise_cpu *c = noise_cpu_of(state->wait_cpu);
	if (c)
		wait_leave(c, state, false);
	state->wait = 0;
	return 0;
}

#endif
