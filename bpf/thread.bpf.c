// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Threads that run while a victim waits, kernel threads on an otherwise idle CPU, and the work
 * items inside them. A thread's frame lasts from one sched_switch to the next; at a switch the
 * whole stack is known again. A work item that sleeps is recorded in segments: its frame is closed
 * with its worker's and opened again when that comes back.
 */
#include "noise.bpf.h"

NOISE_SOURCE(thread, THREAD, TASK);
NOISE_SOURCE(work, THREAD, FUNCTION);
NOISE_SOURCE(victim, THREAD, TASK);

SEC("tp_btf/workqueue_execute_start")
int work_entry(u64 *ctx)
{
	struct work_struct *work = (void *)ctx[0];
	return noise_begin_callback(work_source, (u64)work->func, (u64)work);
}

/* The item may be freed by now: nothing is read from it. */
SEC("tp_btf/workqueue_execute_end")
int work_exit(u64 *ctx)
{
	struct noise_cpu *c = noise_this_cpu();
	if (!c || !noise_wanted(c))
		return 0;
	if (c->open_levels & LEVEL_BIT(SOFTIRQ))
		return noise_end_callback(work_source);
	/* Began before its worker was watched: part of the thread's own time. */
	if (c->open_levels & LEVEL_BIT(WORK) && c->frames[NOISE_LEVEL_WORK].source == work_source)
		noise_close_and_commit(c, NOISE_LEVEL_WORK, NOISE_FLAG_THREADED);
	return 0;
}

/* The function of the work item that a kworker is in the middle of, 0 if none. */
static __noinline u64 thread_work_function(struct task_struct *task)
{
	struct kthread *kthread;
	if (bpf_core_field_exists(task->worker_private))
		kthread = BPF_CORE_READ(task, worker_private);
	else
		kthread =
			(void *)BPF_CORE_READ((struct task_struct___pre_5_17 *)task, set_child_tid);
	struct worker *worker = BPF_CORE_READ(kthread, data);
	return (u64)BPF_CORE_READ(worker, current_func);
}

static __always_inline bool thread_is_runnable(u64 *ctx, struct task_struct *prev)
{
	if (ctx[0]) /* preempted, perhaps on its way to sleep */
		return true;
	if (noise_switch_has_state)
		return !(u32)ctx[3];
	if (bpf_core_field_exists(prev->__state))
		return !prev->__state;
	return !((struct task_struct___pre_5_14 *)prev)->state;
}

/* Softirqs in these threads are their own work, not an interruption of them. */
static __always_inline u8 thread_softirq_flags(const char *comm)
{
	bool ksoftirqd = comm[0] == 'k' && comm[1] == 's' && comm[2] == 'o' && comm[3] == 'f';
	bool ktimers = comm[0] == 'k' && comm[1] == 't' && comm[2] == 'i' && comm[3] == 'm';
	return ksoftirqd || ktimers ? NOISE_FLAG_THREADED : 0;
}

/* Closes what ran until now. An interrupt cannot be open here, so what is was missed. */
static __always_inline void thread_leave(struct noise_cpu *c)
{
	if (c->open_levels & ~(LEVEL_BIT(THREAD) | LEVEL_BIT(WORK))) {
		noise_lose(c, NOISE_LOSS_UNBALANCED);
		c->open_levels &= LEVEL_BIT(THREAD) | LEVEL_BIT(WORK);
	}
	if (c->open_levels & LEVEL_BIT(WORK))
		noise_close_and_commit(c, NOISE_LEVEL_WORK,
				       NOISE_FLAG_CONTINUED | NOISE_FLAG_THREADED);
	if (!(c->open_levels & LEVEL_BIT(THREAD)))
		return;
	u32 writer;
	struct noise_frame *frame = &c->frames[NOISE_LEVEL_THREAD];
	u32 flags = NOISE_FLAG_THREADED | (frame->object >> 32);
	struct noise_event *event = noise_close(c, NOISE_LEVEL_THREAD, flags, &writer);
	if (event)
		event->victim_tid = frame->object;
	noise_commit(c, event, writer);
}

/*
 * The last switch on this CPU was not reported, so how long what is open ran is not known. Seen on
 * guests whose kernel hides some tasks from its own tracepoint.
 */
static __always_inline void thread_resync(struct noise_cpu *c)
{
	noise_lose(c, NOISE_LOSS_SWITCH);
	c->open_levels = 0;
	c->waiting_tid = 0;
}

/* Opens the frame of the thread that runs from now on, if somebody waits for it or it is the
 * kernel's own on an idle CPU. */
static __always_inline void thread_enter(struct noise_cpu *c, struct task_struct *next,
					 bool next_is_victim)
{
	u32 flags = next->flags;
	bool kernel_thread = flags & PF_KTHREAD && next->pid;
	c->softirq_flags = 0;
	if (!c->waiting_tid && (noise_victim_tgid || !kernel_thread))
		return;
	bpf_probe_read_kernel(c->comm, sizeof(c->comm), next->comm);
	if (kernel_thread)
		c->softirq_flags = thread_softirq_flags(c->comm);
	u64 self = noise_victim_tgid && next_is_victim ? NOISE_FLAG_SELF : 0;
	noise_open(c, NOISE_LEVEL_THREAD, thread_source, next->pid, self << 32 | c->waiting_tid);
	if (!(flags & PF_WQ_WORKER))
		return;
	u64 function = thread_work_function(next);
	if (function)
		noise_open(c, NOISE_LEVEL_WORK, work_source, function, 0);
}

/* Tells the name of a victim when it has not been told lately. */
static __noinline int thread_name_victim(struct noise_cpu *c, struct task_struct *task)
{
	if (!c)
		return 0;
	u32 writer;
	struct noise_event *event = noise_claim(c, &writer, false);
	if (event) {
		c->named_tids[c->tid % NOISE_NAMED_TIDS] = c->tid;
		event->start_ns = bpf_ktime_get_ns();
		event->gross_ns = 0;
		event->net_ns = 0;
		event->id = c->tid;
		event->tid = c->tid;
		event->victim_tid = c->tid;
		event->cpu = c->cpu;
		event->parent_id = 0;
		event->source = victim_source;
		event->parent_source = victim_source;
		event->level = NOISE_LEVEL_THREAD;
		event->flags = NOISE_FLAG_NAME;
		bpf_probe_read_kernel(event->comm, sizeof(event->comm), task->comm);
	}
	noise_commit(c, event, writer);
	return 0;
}

SEC("tp_btf/sched_switch")
int thread_switch(u64 *ctx)
{
	struct noise_cpu *c = noise_this_cpu();
	if (!c)
		return 0;
	struct task_struct *prev = (void *)ctx[1];
	struct task_struct *next = (void *)ctx[2];
	if (c->synced && prev->pid != c->tid)
		noise_lose(c, NOISE_LOSS_SWITCH);
	if (c->synced && prev->pid != c->tid)
		thread_resync(c);
	thread_leave(c);

	bool next_is_victim = noise_is_victim(next->pid, next->tgid, next->flags);
	if (c->waiting_tid == next->pid || !next->pid)
		c->waiting_tid = 0;
	if (next->pid && !c->waiting_tid && thread_is_runnable(ctx, prev) &&
	    noise_is_victim(prev->pid, prev->tgid, prev->flags))
		c->waiting_tid = prev->pid;
	c->tid = next->pid;
	c->victim_tid = next_is_victim ? next->pid : c->waiting_tid;
	c->synced = 1;
	if (next_is_victim && c->named_tids[c->tid % NOISE_NAMED_TIDS] != c->tid)
		thread_name_victim(c, next);
	thread_enter(c, next, next_is_victim);
	return 0;
}
