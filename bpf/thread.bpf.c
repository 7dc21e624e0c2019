// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Threads that run while a victim waits, kernel threads on an otherwise idle CPU, and the work
 * items inside them. A thread's frame lasts from one sched_switch to the next; at a switch the
 * whole stack is known again. A work item that sleeps is recorded in segments: its frame is closed
 * with its worker's and opened again when that comes back.
 */
#include "fault.bpf.h"
#include "noise.bpf.h"
#include "softirq.bpf.h"
#include "trigger.bpf.h"
#include "wait.bpf.h"

NOISE_SOURCE(work, "thread", FUNCTION);
NOISE_TRIGGER(work_queue, work, "thread");
NOISE_LINK(work_start, work, "thread");

SEC("raw_tp/workqueue_queue_work")
int work_queue(u64 *ctx)
{
	u64 work = ctx[2];
	u32 cpu = ctx[0];
	if (!noise_is_watched(cpu) && noise_cpu_of(cpu)) /* bound to a CPU that is not watched */
		return 0;
	struct noise_cpu *c = noise_acting_cpu();
	if (!c)
		return 0;
	struct task_struct *current = kernel_current();
	u8 context = trigger_context(c, current);
	struct trigger trigger = {
		.object = work,
		.function = kernel_work_function(work, noise_casts_known),
		.stack = NOISE_NO_STACK,
		.user_stack = trigger_user_stack(ctx, context),
		.target_cpu = cpu,
		.source = work_queue_source,
		.context = context,
	};
	return trigger_emit(c, current, &trigger);
}

/* A worker that is itself the victim: what it works on delays nobody. */
static __always_inline bool work_is_of_victim(struct noise_cpu *c)
{
	return c->victim_tid == c->tid && !(c->open_levels & LEVEL_BIT(SOFTIRQ));
}

/* The event of a work item has no room for the item's address: a record of its start carries it. */
SEC("tp_btf/workqueue_execute_start")
int work_entry(u64 *ctx)
{
	struct work_struct *work = (void *)ctx[0];
	struct noise_cpu *c = noise_wanting_cpu();
	if (!c || work_is_of_victim(c))
		return 0;
	struct trigger trigger = {
		.object = (u64)work,
		.function = (u64)FIELD(work, func),
		.stack = NOISE_NO_STACK,
		.user_stack = NOISE_NO_STACK,
		.target_cpu = c->cpu,
		.source = work_start_source,
		.context = NOISE_CONTEXT_TASK,
	};
	trigger_emit(c, kernel_current(), &trigger);
	return noise_begin_callback(work_source, (u64)FIELD(work, func), (u64)work);
}

/* The item may be freed by now: nothing is read from it. */
SEC("tp_btf/workqueue_execute_end")
int work_exit(u64 *ctx)
{
	struct noise_cpu *c = noise_wanting_cpu();
	if (!c)
		return 0;
	if (c->open_levels & LEVEL_BIT(SOFTIRQ))
		return noise_end_callback(work_source);
	/* Began before its worker was watched: part of the thread's own time. */
	if (c->open_levels & LEVEL_BIT(WORK) && c->frames[NOISE_LEVEL_WORK].source == work_source)
		noise_close_and_commit(c, NOISE_LEVEL_WORK, work_source, NOISE_FLAG_THREADED);
	return 0;
}

static __always_inline bool thread_is_runnable(u64 *ctx, struct task_struct *prev)
{
	if (ctx[0]) /* preempted, perhaps on its way to sleep */
		return true;
	if (noise_switch_has_state)
		return !(u32)ctx[3];
	return !kernel_task_state(prev);
}

/* Softirqs in these threads are their own work, not an interruption of them. */
static __always_inline u8 thread_softirq_flags(const char *comm)
{
	bool ksoftirqd = comm[0] == 'k' && comm[1] == 's' && comm[2] == 'o' && comm[3] == 'f';
	bool ktimers = comm[0] == 'k' && comm[1] == 't' && comm[2] == 'i' && comm[3] == 'm';
	return ksoftirqd || ktimers ? NOISE_FLAG_THREADED : 0;
}

/*
 * Closes what is open above the thread that leaves. A softirq that is preempted with its thread is
 * recorded in segments, and its state is kept until it continues. Nothing else can be open here:
 * the end of anything else was missed.
 */
NOISE_FUNCTION int thread_suspend(void)
{
	struct noise_cpu *c = noise_find_this_cpu();
	struct task_struct *prev = (void *)bpf_get_current_task();
	if (!c)
		return 0;
	u32 softirq = LEVEL_BIT(SOFTIRQ) | LEVEL_BIT(SOFTIRQ_CALLBACK);
	if (kernel_softirqs_are_preempted() && c->open_levels & LEVEL_BIT(SOFTIRQ)) {
		struct noise_frame *frame = &c->frames[NOISE_LEVEL_SOFTIRQ];
		struct noise_frame *callback = &c->frames[NOISE_LEVEL_SOFTIRQ_CALLBACK];
		struct noise_task *state = task_state(c, BPF_CORE_READ(prev, pid), true);
		bool called = c->open_levels & LEVEL_BIT(SOFTIRQ_CALLBACK);
		if (state) {
			state->softirq = frame->id + 1;
			state->softirq_object = frame->object;
			state->callback_source = called ? callback->source + 1 : 0;
			state->callback = callback->id;
			state->callback_object = callback->object;
		}
		if (called)
			noise_close_and_commit(c, NOISE_LEVEL_SOFTIRQ_CALLBACK, callback->source,
					       NOISE_FLAG_CONTINUED);
		noise_close_and_commit(c, NOISE_LEVEL_SOFTIRQ, softirq_source,
				       NOISE_FLAG_CONTINUED);
		c->open_levels &= ~softirq;
	}
	if (c->open_levels & ~(LEVEL_BIT(THREAD) | LEVEL_BIT(WORK))) {
		noise_lose(c, NOISE_LOSS_UNBALANCED);
		c->open_levels &= LEVEL_BIT(THREAD) | LEVEL_BIT(WORK);
	}
	return 0;
}

/* The reverse, unless it delays no victim any more. */
NOISE_FUNCTION int thread_resume(u32 tid)
{
	struct noise_cpu *c = noise_find_this_cpu();
	struct noise_task *state = c ? task_state(c, tid, false) : NULL;
	if (!state || !state->softirq)
		return 0;
	u32 vector = state->softirq - 1, called = state->callback_source;
	state->softirq = 0;
	if (noise_victims != NOISE_VICTIMS_USERS && !c->victim_tid)
		return 0;
	noise_open(c, NOISE_LEVEL_SOFTIRQ, softirq_source, vector, state->softirq_object);
	if (called)
		noise_open(c, NOISE_LEVEL_SOFTIRQ_CALLBACK, called - 1, state->callback,
			   state->callback_object);
	return 0;
}

/*
 * The thread that leaves was alone when it came, and a victim waits for it since: its frame begins
 * with that wait.
 */
static __always_inline void thread_delayed(u64 *ctx, struct noise_cpu *c, struct task_struct *prev,
					   u64 now_ns, u64 closed_ns)
{
	u32 tid = FIELD(prev, pid);
	struct noise_frame *frame = &c->frames[NOISE_LEVEL_THREAD];
	bool victim = noise_is_victim_on(c, prev, tid, FIELD(prev, tgid), FIELD(prev, flags));
	u64 self = noise_own_victims() != NOISE_VICTIMS_USERS && victim ? NOISE_FLAG_SELF : 0;
	kernel_argument_comm(prev, (u64 *)c->comm);
	trigger_emit_argument_name(c, ctx, 1);
	frame->source = thread_source;
	frame->id = tid;
	frame->object = self << 32 | c->waiting_tid;
	frame->waker_cpu = 0;
	frame->marked = 1; /* the wait began while it ran: there was no switch */
	/* Another CPU noted these two, at about one moment. */
	u64 since_ns = c->wait_since_ns, before_ns = c->wait_closed_ns;
	if (closed_ns - before_ns > now_ns - since_ns)
		before_ns = closed_ns - (now_ns - since_ns);
	frame->start_ns = since_ns;
	frame->closed_ns = before_ns;
	c->open_levels |= LEVEL_BIT(THREAD);
}

/* Records where the victim waits that had to wait for long: it is not there to be asked. */
NOISE_FUNCTION int thread_record_victim(u64 start_ns, u64 gross_ns, u32 tid)
{
	struct noise_cpu *c = noise_find_this_cpu();
	struct noise_task *state = c ? task_state(c, tid, false) : NULL;
	if (!state || !state->wait || state->wait_cpu != c->cpu || !state->user_stack)
		return 0;
	return noise_record_victim(start_ns, gross_ns, tid, state->user_stack - 1);
}

/* Closes what ran until a moment, the time of which is added to what was closed by then. */
static __always_inline void thread_leave(u64 *ctx, struct noise_cpu *c, struct task_struct *prev,
					 struct noise_moment *moment)
{
	u64 now_ns = moment->now_ns;
	u32 writer, flags = NOISE_FLAG_CONTINUED | NOISE_FLAG_THREADED;
	struct noise_event *event;
	if (c->open_levels & LEVEL_BIT(WORK)) {
		event = noise_close_at(c, NOISE_LEVEL_WORK, c->frames[NOISE_LEVEL_WORK].source,
				       flags, now_ns, &moment->closed_ns, &writer);
		noise_commit(c, event, writer);
	}
	if (!(c->open_levels & LEVEL_BIT(THREAD))) {
		if (wait_count(c) <= 0 || !FIELD(prev, pid))
			return;
		thread_delayed(ctx, c, prev, now_ns, moment->closed_ns);
	}
	struct noise_frame *frame = &c->frames[NOISE_LEVEL_THREAD];
	flags = NOISE_FLAG_THREADED | (frame->object >> 32);
	event = noise_close_at(c, NOISE_LEVEL_THREAD, thread_source, flags, now_ns,
			       &moment->closed_ns, &writer);
	u64 start_ns = frame->start_ns, gross_ns = 0;
	if (event) {
		event->victim_tid = frame->object;
		gross_ns = event->gross_ns;
	}
	noise_commit(c, event, writer);
	if (noise_own_takes_stacks() && gross_ns >= NOISE_LONG_NS)
		thread_record_victim(start_ns, gross_ns, frame->object);
}

/*
 * The last switch on this CPU was not reported, so the run time of open frames is not known. Seen
 * on guests whose kernel hides some tasks from the tracepoint. Only the wait of the task that
 * leaves has a known end: when it was switched in.
 */
NOISE_FUNCTION int thread_resync(void)
{
	struct noise_cpu *c = noise_find_this_cpu();
	struct task_struct *prev = (void *)bpf_get_current_task();
	u32 tid = BPF_CORE_READ(prev, pid);
	if (!c)
		return 0;
	noise_lose(c, NOISE_LOSS_SWITCH);
	c->open_levels = 0;
	wait_clear(c);
	struct noise_task *state = task_state(c, tid, false);
	if (!state)
		return 0;
	state->waker = 0;
	if (state->wait)
		wait_end(c, state, tid,
			 bpf_ktime_get_ns() - BPF_CORE_READ(prev, se.sum_exec_runtime) +
				 BPF_CORE_READ(prev, se.prev_sum_exec_runtime));
	return 0;
}

/* What spins is away from its CPU, where it may keep on spinning after a nap. */
static __always_inline void thread_sleeps(struct noise_cpu *c)
{
	if (c->spinning_tid && !c->spinning_left_ns)
		c->spinning_left_ns = bpf_ktime_get_ns();
}

/* A kernel thread has the CPU to itself. It spins on unless another one does. */
static __always_inline void thread_spins(struct noise_cpu *c, u32 tid)
{
	u64 now_ns = c->frames[NOISE_LEVEL_THREAD].start_ns, left_ns = c->spinning_left_ns;
	if (!c->spinning_tid || (left_ns && now_ns - left_ns > NOISE_NAP_NS)) {
		c->spinning_tid = tid;
		c->spinning_since_ns = now_ns;
		c->adopted_tid = 0;
	}
	if (c->spinning_tid == tid)
		c->spinning_left_ns = 0;
}

/* What runs from a switch on begins with the wait that begins there: both at one moment. */
static __always_inline void thread_begin(struct noise_frame *frame,
					 const struct noise_moment *moment)
{
	frame->start_ns = moment->now_ns;
	frame->closed_ns = moment->closed_ns;
}

/*
 * Opens the frame of the thread that runs from now on, if a victim waits for the CPU or if it is a
 * kernel thread on an idle CPU. The idle task runs while a victim waits only because of a quota.
 */
static __always_inline void thread_enter(struct noise_cpu *c, struct task_struct *next,
					 bool next_is_victim, u64 waker, bool again,
					 struct noise_moment *moment)
{
	u32 flags = FIELD(next, flags);
	bool kernel_thread = flags & PF_KTHREAD && FIELD(next, pid);
	c->softirq_flags = 0;
	bool idle = noise_own_victims() == NOISE_VICTIMS_USERS && kernel_thread && !next_is_victim;
	if (!c->waiting_tid && !idle)
		return;
	kernel_argument_comm(next, (u64 *)c->comm);
	if (kernel_thread)
		c->softirq_flags = thread_softirq_flags(c->comm);
	u64 self =
		noise_own_victims() != NOISE_VICTIMS_USERS && next_is_victim ? NOISE_FLAG_SELF : 0;
	struct noise_frame *frame = noise_set_up(c, NOISE_LEVEL_THREAD, thread_source,
						 (waker & ~0xffffffffull) | FIELD(next, pid),
						 self << 32 | c->waiting_tid);
	frame->waker_cpu = waker;
	frame->marked = again;
	noise_read(c, moment);
	thread_begin(frame, moment);
	if (idle)
		thread_spins(c, FIELD(next, pid));
	if (!(flags & PF_WQ_WORKER))
		return;
	u64 function =
		kernel_worker_function(kernel_worker(next, noise_casts_known), noise_casts_known);
	if (function)
		thread_begin(noise_set_up(c, NOISE_LEVEL_WORK, work_source, function, 0), moment);
}

/* Ends the wait of the task that runs from now on. Returns its waker; lower half: the waker's CPU. */
static __always_inline u64 thread_arrive(struct noise_cpu *c, struct task_struct *next,
					 struct noise_moment *moment)
{
	u32 tid = FIELD(next, pid);
	if (!tid) {
		wait_clear(c);
		thread_sleeps(c);
		return 0;
	}
	struct noise_task *state = task_state(c, tid, false);
	if (!state)
		return 0;
	u64 waker = (u64)state->waker << 32 | state->waker_cpu;
	if (state->wait) {
		noise_read(c, moment);
		wait_end(c, state, tid, moment->now_ns);
	}
	if (c->waiting_tid == tid && c->waiting_next) {
		c->waiting_tid = c->waiting_next;
		c->waiting_next = 0;
	}
	state->waker = 0;
	return waker;
}

/*
 * The task is preempted: nobody wakes it for its next run, and a victim waits from now on. Or it
 * goes to sleep, or ends.
 */
static __always_inline void thread_depart(void *ctx, struct noise_cpu *c, struct task_struct *prev,
					  bool runnable, struct noise_moment *moment)
{
	u32 tid = FIELD(prev, pid);
	bool victim = noise_is_victim_on(c, prev, tid, FIELD(prev, tgid), FIELD(prev, flags));
	if (!runnable && c->spinning_tid == tid)
		thread_sleeps(c);
	if (!runnable && !victim)
		return;
	struct noise_task *state = task_state(c, tid, victim);
	if (!state)
		return;
	if (noise_own_takes_stacks() && victim)
		state->user_stack = noise_user_stack(ctx) + 1;
	noise_read(c, moment);
	if (!runnable && FIELD(prev, exit_state)) {
		wait_exit(c, state, tid);
	} else if (!runnable) {
		state->left_ns = moment->now_ns;
	} else {
		state->waker = 0; /* a running task can be woken */
		if (victim && !state->wait)
			wait_begin_at(c, state, prev, moment);
	}
}

SEC("tp_btf/sched_switch")
int thread_switch(u64 *ctx)
{
	struct noise_cpu *c = noise_this_cpu();
	if (!c)
		return 0;
	struct task_struct *prev = (void *)ctx[1];
	struct task_struct *next = (void *)ctx[2];
	if (c->watch != NOISE_WATCH_SYNCED)
		noise_sync();
	else if (FIELD(prev, pid) != c->tid)
		thread_resync();
	raiser_note_since(c, 0);
	if (noise_own_traces_faults())
		fault_park(c, FIELD(prev, pid), thread_is_runnable(ctx, prev));
	bool again = c->open_levels & LEVEL_BIT(THREAD);
	if (c->open_levels & ~(LEVEL_BIT(THREAD) | LEVEL_BIT(WORK)))
		thread_suspend();
	/* One reading for all that ends and begins here, as it takes long; interrupts are off. */
	struct noise_moment moment = {};
	if (c->open_levels || wait_count(c) > 0) {
		noise_read(c, &moment);
		thread_leave(ctx, c, prev, &moment);
	}

	u32 tid = FIELD(next, pid);
	if (noise_own_victims() == NOISE_VICTIMS_USERS && c->adopted_tid && c->adopted_tid == tid)
		c->spinning_left_ns = 0;
	if (noise_own_traces_faults())
		fault_resume(c, FIELD(next, pid));
	u64 waker = thread_arrive(c, next, &moment);
	if (FIELD(prev, pid))
		thread_depart(ctx, c, prev, thread_is_runnable(ctx, prev), &moment);
	if (wait_count(c) <= 0 && (int)c->throttled <= 0)
		c->waiting_tid = 0;
	/* Read separately: the verifier does not follow a load through one of two pointers. */
	u32 waiting_tid = READ_ONCE(c->waiting_tid);
	bool next_is_victim =
		noise_is_victim_on(c, next, tid, FIELD(next, tgid), FIELD(next, flags));
	c->tid = tid;
	c->victim_tid = next_is_victim ? tid : waiting_tid;
	if (c->victim_tid)
		trigger_emit_argument_name(c, ctx, 2);
	thread_enter(c, next, next_is_victim, waker, again, &moment);
	if (kernel_softirqs_are_preempted())
		thread_resume(tid);
	return 0;
}
