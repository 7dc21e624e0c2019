/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The front end for BCC: the structs are those of the kernel's headers, and each field is read with
 * a helper, as the programs are raw tracepoints here. noisetop/tracing/bcc.py writes the
 * translation unit around the sources: the values of the knobs, the numbers of the maps and of the
 * sources, and a NOISE_LACKS_struct_member for every member that the headers lack.
 *
 * What is private to the kernel's files is in no header: its functions here return that it is not
 * known. What is lost by that is listed in noisetop/tracing/bcc.py.
 */
#ifndef NOISETOP_BCC_H
#define NOISETOP_BCC_H

#include <linux/cgroup-defs.h>
#include <linux/cpumask.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/kernfs.h>
#include <linux/sched.h>
#include <linux/timer.h>
#include <linux/workqueue.h>
#include <trace/events/sched.h>

#undef current
#undef barrier
#undef READ_ONCE
#undef WRITE_ONCE
#define barrier() asm volatile("" ::: "memory")
#define READ_ONCE(x) (*(volatile typeof(x) *)&(x))
#define WRITE_ONCE(x, value) (*(volatile typeof(x) *)&(x) = (value))

/* BCC loads single functions: everything is inlined into those of the translation unit. */
#undef SEC
#undef __noinline
#define SEC(tracepoint) static __always_inline
#define __noinline __always_inline
#define NOISE_EXPORT(section) static __attribute__((unused))
#define NOISE_SOURCE_ID(source) source##_source_id
#define NOISE_FUNCTION static __always_inline

#if defined(__x86_64__) && !defined(__TARGET_ARCH_x86)
#define __TARGET_ARCH_x86
#elif defined(__aarch64__) && !defined(__TARGET_ARCH_arm64)
#define __TARGET_ARCH_arm64
#endif

static __always_inline struct noise_cpu *noise_states(void)
{
	return (void *)NOISE_STATES_ADDRESS;
}

#define noise_own_cpu_count() noise_cpu_count
#define noise_own_victims() noise_victims
#define noise_own_takes_stacks() noise_takes_stacks
#define noise_own_pending_known() noise_pending_known
#define noise_own_count_placed() false
#define noise_own_traces_faults() noise_traces_faults
#define noise_own_wakeup_tells() noise_wakeup_tells_waker
#define noise_own_queued_known() (noise_queued_wakeup != 0)

struct noise_map;
#define bpf_get_stackid(ctx, map, flags)                                                           \
	((int (*)(void *, void *, u64))BPF_FUNC_get_stackid)(ctx, map, flags)

#define FIELD(pointer, field)                                                                      \
	({                                                                                         \
		typeof((typeof((pointer)->field))0) value_; /* without a const */                  \
		bpf_probe_read_kernel(&value_, sizeof(value_), (void *)&(pointer)->field);         \
		value_;                                                                            \
	})
#define FIELD_1(p, a) FIELD(p, a)
#define FIELD_2(p, a, b) FIELD(FIELD(p, a), b)
#define FIELD_3(p, a, b, c) FIELD(FIELD(FIELD(p, a), b), c)
#define FIELD_OF(a, b, c, chosen, ...) chosen
#define BPF_CORE_READ(p, ...) FIELD_OF(__VA_ARGS__, FIELD_3, FIELD_2, FIELD_1)(p, __VA_ARGS__)
#define BPF_CORE_READ_INTO(into, p, field)                                                         \
	bpf_probe_read_kernel(into, sizeof(*(into)), (void *)&(p)->field)
#define BPF_CORE_READ_STR_INTO(into, p, field)                                                     \
	bpf_probe_read_kernel_str(into, sizeof(*(into)), (void *)&(p)->field)
#define bpf_core_read(into, bytes, from) bpf_probe_read_kernel(into, bytes, (void *)(from))

#define task_struct___arm64 task_struct

#define KERNEL_CURRENT(current, field) FIELD(current, field)

static __always_inline struct task_struct *kernel_current(void)
{
	return (void *)bpf_get_current_task();
}

static __always_inline void kernel_current_comm(struct task_struct *current, u64 *comm)
{
	bpf_get_current_comm(comm, 16);
}

static __always_inline void kernel_argument_comm(struct task_struct *task, u64 *comm)
{
	bpf_probe_read_kernel(comm, 16, task->comm);
}

/* Taken from the declaration of the tracepoint, not from the translation unit. */
#undef noise_switch_has_state
#define noise_switch_has_state                                                                     \
	(!__builtin_types_compatible_p(                                                            \
		typeof(&trace_sched_switch),                                                       \
		void (*)(bool, struct task_struct *, struct task_struct *)))

static __always_inline unsigned int kernel_task_state(struct task_struct *task)
{
#ifdef NOISE_LACKS_task_struct___state
	return FIELD(task, state);
#else
	return FIELD(task, __state);
#endif
}

static __always_inline u32 kernel_task_cpu(struct task_struct *task)
{
#ifdef NOISE_LACKS_thread_info_cpu
	return FIELD(task, cpu);
#else
	return FIELD(task, thread_info.cpu);
#endif
}

static __always_inline bool kernel_task_on_cpu(struct task_struct *task)
{
#ifdef CONFIG_SMP
	return FIELD(task, on_cpu);
#else
	return (u64)task == bpf_get_current_task();
#endif
}

static __always_inline bool kernel_softirqs_are_preempted(void)
{
#ifdef CONFIG_PREEMPT_RT
	return true;
#else
	return false;
#endif
}

/* Up to 6.17 only the private struct cfs_rq says so. */
static __always_inline bool kernel_task_throttled(struct task_struct *task, u32 cpu)
{
#ifdef NOISE_LACKS_task_struct_throttled
	return false;
#else
	return FIELD(task, throttled);
#endif
}

static __always_inline u64 kernel_cgroup_ancestor(struct cgroup *cgroup, u32 level, bool casts)
{
#ifdef NOISE_LACKS_cgroup_ancestors
	return FIELD(cgroup, ancestor_ids[level]);
#else
	return BPF_CORE_READ(cgroup, ancestors[level], kn, id);
#endif
}

static __always_inline u64 kernel_task_cgroup(struct task_struct *task)
{
	struct css_set *groups = BPF_CORE_READ(task, cgroups);
	return BPF_CORE_READ(groups, dfl_cgrp, kn, id);
}

/* struct kthread and struct worker are private. */
static __always_inline struct worker *kernel_worker(struct task_struct *task, bool casts)
{
	return NULL;
}

static __always_inline u64 kernel_worker_item(struct worker *worker, bool casts)
{
	return 0;
}

static __always_inline u64 kernel_worker_function(struct worker *worker, bool casts)
{
	return 0;
}

static __always_inline u64 kernel_work_function(u64 work, bool casts)
{
	return (u64)BPF_CORE_READ((struct work_struct *)work, func);
}

/* Page faults come from no tracepoint, so their programs are not among those of BCC. */
static __always_inline u64 kernel_numa_hints(struct task_struct *task)
{
	return 0;
}

/* Nor are those of entries, which BTF leads to the registers of a task. */
static __always_inline bool kernel_in_system_call(void)
{
	return true;
}

/* Raw programs have no types to cast to. */
static __always_inline u64 kernel_number_place(u64 address)
{
	return address;
}

static __always_inline u32 kernel_number(u64 place)
{
	return 0;
}

static __always_inline void kernel_text_at(u64 address, u64 *text)
{
}

/* Where the per-CPU variables of this CPU begin. */
static __always_inline void *kernel_per_cpu_place(struct task_struct *current)
{
	void *place = NULL;
	bpf_probe_read_kernel(&place, sizeof(place),
			      (void *)noise_per_cpu_offsets +
				      sizeof(place) * bpf_get_smp_processor_id());
	return place;
}

/* Where this tracer runs, wake-ups are noted by sched_waking: see noise_wakeup_tells_waker. */
static __always_inline u32 kernel_tid_to_wake(u64 csd, bool casts)
{
	return 0;
}

#endif
