/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * For programs that record triggers, on any CPU, watched or not. The cost falls on the CPU that
 * acts, not on the one that is interrupted later.
 */
#ifndef NOISETOP_TRIGGER_BPF_H
#define NOISETOP_TRIGGER_BPF_H

#include "noise.bpf.h"

/* include/linux/preempt.h; a softirq being served, not one that is merely held off */
#define SOFTIRQ_SERVED 0x00000100
#define HARDIRQ_MASK 0x000f0000
#define NMI_MASK 0x00f00000

/* No preempt count, which has 32 bits. */
#define TRIGGER_NO_COUNT (1ull << 32)

/* Where the preempt count of this CPU lies. Once per CPU, so it is kept out of line. */
NOISE_FUNCTION int trigger_place_count(void)
{
	struct noise_cpu *c = noise_find_this_cpu();
	u64 address = (u64)kernel_per_cpu_place(kernel_current()) + noise_preempt_count_offset;
	if (c)
		c->count_place = kernel_number_place(address);
	return 0;
}

/*
 * The preempt count of this CPU, `c`. It is a per-CPU variable whose symbol many kernels do not
 * export, but lies at a known distance from another one.
 */
static __always_inline u64 trigger_preempt_count(struct noise_cpu *c, struct task_struct *current)
{
#if defined(__TARGET_ARCH_arm64) /* keeps it with the task */
	return BPF_CORE_READ((struct task_struct___arm64 *)current, thread_info.preempt.count);
#endif
	if (noise_own_count_placed()) {
		if (!c->count_place)
			trigger_place_count();
		return kernel_number(c->count_place);
	}
	void *place = noise_preempt_count_known ? kernel_per_cpu_place(current) : NULL;
	u32 count;
	if (!place)
		return TRIGGER_NO_COUNT;
	place += noise_preempt_count_offset;
	return bpf_probe_read_kernel(&count, sizeof(count), place) ? TRIGGER_NO_COUNT : count;
}

/* The context of this CPU: only in task context is the current task the one that acts. */
static __always_inline u8 trigger_context(struct noise_cpu *c, struct task_struct *current)
{
	u64 count = trigger_preempt_count(c, current);
	if (!(count & (NMI_MASK | HARDIRQ_MASK | SOFTIRQ_SERVED | TRIGGER_NO_COUNT)))
		return NOISE_CONTEXT_TASK;
	if (count == TRIGGER_NO_COUNT)
		return NOISE_CONTEXT_UNKNOWN;
	if (count & NMI_MASK)
		return NOISE_CONTEXT_NMI;
	if (count & HARDIRQ_MASK)
		return NOISE_CONTEXT_IRQ;
	return NOISE_CONTEXT_SOFTIRQ;
}

static __always_inline u32 trigger_age_us(struct task_struct *task, u64 now_ns)
{
	u64 age_us = (now_ns - BPF_CORE_READ(task, start_time)) / 1000;
	return age_us < 0xffffffff ? age_us : 0xffffffff;
}

static __always_inline u32 trigger_name_hash(u32 tid, const u64 *comm)
{
	u64 mixed = (comm[0] ^ comm[1] << 1 ^ tid) * 0x9e3779b97f4a7c15ull;
	return mixed >> 32;
}

/* Whether there is nothing to emit: this CPU has emitted the same name lately. */
static __always_inline bool trigger_has_name(struct noise_cpu *c, u32 tid, const u64 *comm)
{
	const u32 *ways = c->named[tid % NOISE_NAMED_SETS];
	u32 hash = trigger_name_hash(tid, comm);
	return !tid || ways[0] == hash || ways[1] == hash;
}

/* Emits the name of a task, unless this CPU has emitted the same name lately. Whether it did. */
NOISE_FUNCTION int trigger_emit_one_name(u64 address)
{
	struct noise_cpu *c = noise_find_this_cpu();
	struct task_struct *task = (void *)address;
	u64 comm[2] = {};
	if (!c)
		return 0;
	u32 tid = BPF_CORE_READ(task, pid);
	BPF_CORE_READ_INTO(&comm, task, comm);
	if (trigger_has_name(c, tid, comm))
		return 0;
	u32 writer, *ways = c->named[tid % NOISE_NAMED_SETS];
	struct noise_task_name *record = (void *)noise_claim(c, &writer, 0);
	if (record) {
		ways[1] = ways[0];
		ways[0] = trigger_name_hash(tid, comm);
		record->time_ns = bpf_ktime_get_ns();
		record->cgroup = kernel_task_cgroup(task);
		record->tgid = BPF_CORE_READ(task, tgid);
		record->parent_tgid = BPF_CORE_READ(task, real_parent, tgid);
		record->task_flags = BPF_CORE_READ(task, flags);
		record->age_us = trigger_age_us(task, record->time_ns);
		record->tid = tid;
		record->reserved_too = 0;
		record->cpu = c->cpu;
		record->source = thread_source;
		record->flags = NOISE_FLAG_NAME;
		__builtin_memcpy(record->comm, comm, sizeof(record->comm));
	}
	noise_commit(c, (void *)record, writer);
	return record != NULL;
}

/* And with it the name of what started it, which may be gone when somebody asks. */
NOISE_FUNCTION int trigger_emit_name(u64 address)
{
	struct task_struct *task = (void *)address;
	if (trigger_emit_one_name(address))
		trigger_emit_one_name((u64)BPF_CORE_READ(task, real_parent));
	return 0;
}

/* The same for the current task; the many times that there is nothing to emit cost little. */
static __always_inline void trigger_emit_current_name(struct noise_cpu *c,
						      struct task_struct *current)
{
	u64 comm[2];
	kernel_current_comm(current, comm);
	if (!trigger_has_name(c, KERNEL_CURRENT(current, pid), comm))
		trigger_emit_name(bpf_get_current_task());
}

/*
 * The same for a task that is an argument of a typed tracepoint. The function takes a number, which
 * the argument is where it is read with a helper.
 */
static __always_inline void trigger_emit_argument_name(struct noise_cpu *c, u64 *ctx, u32 argument)
{
	struct task_struct *task = (void *)ctx[argument];
	u64 comm[2], address;
	kernel_argument_comm(task, comm);
	if (trigger_has_name(c, FIELD(task, pid), comm))
		return;
	asm volatile("" : "+r"(ctx)); /* the verifier follows no load from one that was moved */
	if (!bpf_probe_read_kernel(&address, sizeof(address), ctx + argument))
		trigger_emit_name(address);
}

/* The fields of a trigger that differ by program; trigger_emit() adds the others. */
struct trigger {
	u64 object;
	u64 function;
	u32 stack;
	u32 user_stack;
	u16 target_cpu;
	u8 source;
	u8 context;
};

static __always_inline void trigger_fill_work(struct noise_trigger *record,
					      struct task_struct *current)
{
	record->work = 0;
	record->work_function = 0;
	if (record->context != NOISE_CONTEXT_TASK ||
	    !(KERNEL_CURRENT(current, flags) & PF_WQ_WORKER))
		return;
	struct worker *worker = kernel_worker(current, noise_casts_known);
	record->work = kernel_worker_item(worker, noise_casts_known);
	record->work_function = kernel_worker_function(worker, noise_casts_known);
}

/* The object comes last: a record that is looked at meanwhile is not whole before. */
static __always_inline void trigger_fill(struct noise_cpu *c, struct task_struct *current,
					 struct noise_trigger *record,
					 const struct trigger *trigger, u64 now_ns)
{
	record->time_ns = now_ns;
	record->function = trigger->function;
	record->stack = trigger->stack;
	record->user_stack = trigger->user_stack;
	record->root = c->watch != NOISE_WATCH_NONE ? noise_root(c) : 0;
	record->tid = KERNEL_CURRENT(current, pid);
	record->cpu = c->cpu;
	record->target_cpu = trigger->target_cpu;
	record->source = trigger->source;
	record->context = trigger->context;
	record->flags = NOISE_FLAG_TRIGGER;
	trigger_fill_work(record, current);
	barrier();
	record->object = trigger->object;
}

/* Records a trigger that this CPU, `c`, makes. */
static __always_inline int trigger_emit(struct noise_cpu *c, struct task_struct *current,
					const struct trigger *trigger)
{
	trigger_emit_current_name(c, current);
	u64 now_ns = bpf_ktime_get_ns(); /* here, as a call leaves few registers to what is known */
	u32 writer;
	struct noise_trigger *record = (void *)noise_claim(c, &writer, 0);
	if (record)
		trigger_fill(c, current, record, trigger, now_ns);
	else
		noise_lose(c, NOISE_LOSS_TRIGGER);
	noise_commit(c, (void *)record, writer);
	return 0;
}

#define EEXIST 17 /* include/uapi/asm-generic/errno-base.h */

/*
 * The kernel stack of the current task, where that was asked for. Each has one place in the map, and
 * another stack may have taken it. Without its innermost frames, which are those of BPF, it has
 * another place.
 */
static __always_inline u32 trigger_stack(void *ctx)
{
	if (!noise_own_takes_stacks())
		return NOISE_NO_STACK;
	int stack = bpf_get_stackid(ctx, &noise_stacks, 0);
	if (stack == -EEXIST)
		stack = bpf_get_stackid(ctx, &noise_stacks, 1);
	if (stack == -EEXIST)
		stack = bpf_get_stackid(ctx, &noise_stacks, 2);
	return stack < 0 ? NOISE_NO_STACK : stack;
}

/* And that of its program, where the task is the one that acts. */
static __always_inline u32 trigger_user_stack(void *ctx, u8 context)
{
	return context == NOISE_CONTEXT_TASK ? noise_user_stack(ctx) : NOISE_NO_STACK;
}

#endif
