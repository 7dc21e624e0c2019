/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The front end for libbpf: the kernel fields that the programs read, and no others. CO-RE
 * relocates them to where the running kernel has them. A ___suffix marks how an older kernel names
 * or types the same thing.
 */
#ifndef NOISETOP_KERNEL_H
#define NOISETOP_KERNEL_H

#include <stdbool.h>
#include <linux/bpf.h>
#include <linux/types.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "noise.h"
#include "placeholders.h"

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s64 s64;

#define PF_WQ_WORKER 0x00000020 /* include/linux/sched.h */
#define PF_KTHREAD 0x00200000

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct thread_info {
	u32 cpu;
};

struct kernfs_node {
	u64 id;
};

struct cgroup {
	int level;
	struct kernfs_node *kn;
	struct cgroup *ancestors[1]; /* since 6.1 (7f203bc89eb6) */
};

struct cgroup___pre_6_1 {
	u64 ancestor_ids[1];
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

struct bpf_iter__task {
	struct task_struct *task;
};

struct rq {
};

struct cfs_rq {
	struct rq *rq; /* with group scheduling */
	int throttle_count;
};

struct sched_entity {
	struct cfs_rq *cfs_rq;
	u64 sum_exec_runtime;
	u64 prev_sum_exec_runtime; /* of this when it was switched in, where it is kept: not for RT */
};

struct task_group {
	struct cfs_rq **cfs_rq;
};

struct cpumask {
	unsigned long bits[1];
};

struct __call_single_node {
	unsigned int u_flags;
};

struct task_struct {
	struct thread_info thread_info;
	unsigned int __state;
	unsigned int flags;
	int exit_state;
	unsigned int on_cpu; /* int, u8 since 7.3: only unsigned fields may change their size */
	int pid;
	int tgid;
	struct task_struct *real_parent;
	u64 start_time; /* CLOCK_MONOTONIC */
	const struct cpumask *cpus_ptr;
	struct sched_entity se;
	struct task_group *sched_task_group;
	struct css_set *cgroups;
	bool throttled;                       /* quota used up, per task since 6.18 */
	int softirq_disable_cnt;              /* PREEMPT_RT only */
	struct __call_single_node wake_entry; /* queues its wake-up on another CPU */
	unsigned long nvcsw;
	unsigned long nivcsw;
	unsigned long min_flt;
	unsigned long maj_flt;
	unsigned long numa_faults_locality[3]; /* with NUMA balancing: pages met by hint faults */
	char comm[16];
	void *worker_private; /* struct kthread, since 5.17 (e32cf5dfbe22) */
};

struct task_struct___pre_5_16 {
	unsigned int cpu; /* moved to thread_info by bcf9033e5449 */
};

struct task_struct___pre_5_14 { /* renamed to __state by 2f064a59a11f */
	long state;
};

struct task_struct___pre_5_17 {
	int *set_child_tid; /* where kernel threads kept their struct kthread */
};

struct kthread {
	void *data;
};

#if defined(__TARGET_ARCH_x86)
struct pt_regs {
	unsigned long orig_ax;
};
#else
struct pt_regs___arm64 {
	int syscallno;
};
#endif

struct thread_info___arm64 {
	struct {
		u32 count;
	} preempt;
};

struct task_struct___arm64 {
	struct thread_info___arm64 thread_info;
};

struct worker { /* kernel/workqueue_internal.h */
	void *current_work;
	void (*current_func)(void *);
};

struct irqaction {
	const char *name;
};

struct hrtimer_cpu_base {
	unsigned int cpu;
};

struct hrtimer_clock_base {
	struct hrtimer_cpu_base *cpu_base;
};

struct hrtimer {
	s64 _softexpires;
	void *function;
	struct hrtimer_clock_base *base;
	u8 is_soft;
};

struct timer_list {
	void *function;
	u32 flags;
};

struct work_struct {
	void *func;
};

#pragma clang attribute pop

#define barrier() asm volatile("" ::: "memory")
#define READ_ONCE(x) (*(volatile typeof(x) *)&(x))
#define WRITE_ONCE(x, value) (*(volatile typeof(x) *)&(x) = (value))

#define NOISE_EXPORT(section) SEC(section) __attribute__((used))
#define NOISE_SOURCE_ID(source) __COUNTER__
/* Global, so that the verifier looks at it once and not with each call. Numbers alone go in. */
#define NOISE_FUNCTION __noinline
#define FIELD(pointer, field) ((pointer)->field)

/*
 * The states of all CPUs, by CPU number. An address that the loader puts there, as a look-up takes
 * longer than most of what a program does with the state that it finds. It reaches the programs
 * themselves, not what they have out of line.
 */
static __always_inline struct noise_cpu *noise_states(void)
{
	struct noise_cpu *states;
	asm("%0 = %1 ll" : "=r"(states) : "i"(NOISE_STATES_ADDRESS));
	if (!states) /* which the compiler does not know */
		__builtin_unreachable();
	return states;
}

/*
 * Numbers of the configuration as part of the code, where others are read from memory of which
 * nothing else is needed. As above, only in the programs themselves.
 */
#define NOISE_NUMBER(placeholder)                                                                  \
	({                                                                                         \
		u64 number_;                                                                       \
		asm("%0 = %1" : "=r"(number_) : "i"(placeholder));                                 \
		number_;                                                                           \
	})
#define noise_own_cpu_count() NOISE_NUMBER(NOISE_CPU_COUNT_NUMBER)
#define noise_own_victims() NOISE_NUMBER(NOISE_VICTIMS_NUMBER)
#define noise_own_takes_stacks() NOISE_NUMBER(NOISE_TAKES_STACKS_NUMBER)
#define noise_own_pending_known() NOISE_NUMBER(NOISE_PENDING_KNOWN_NUMBER)
/* Whether the preempt count is read through a place that is known, see trigger_preempt_count(). */
#define noise_own_count_placed() NOISE_NUMBER(NOISE_COUNT_PLACED_NUMBER)
#define noise_own_traces_faults() NOISE_NUMBER(NOISE_TRACES_FAULTS_NUMBER)
#define noise_own_wakeup_tells() NOISE_NUMBER(NOISE_WAKEUP_TELLS_NUMBER)
/* Whether noise_queued_wakeup is known. */
#define noise_own_queued_known() NOISE_NUMBER(NOISE_QUEUED_KNOWN_NUMBER)

/*
 * What lies at an address, as a struct whose fields are read without a call. The loader puts the
 * kernel's own function there, which the verifier replaces by a move (6.2: a35b9af4ec2c): see
 * noisetop/native/kernel_casts.h. Only where noise_casts_known, and only in the programs themselves.
 */
static void *(*const kernel_cast)(u64 address, u32 type) = (void *)NOISE_CAST_CALL;

#define KERNEL_CAST(type, address) ((type *)kernel_cast(address, bpf_core_type_id_kernel(type)))

/* Through what a number of 32 bits is read: a struct that has such a field on all kernels. */
static __always_inline u64 kernel_number_place(u64 address)
{
	return address - bpf_core_field_offset(struct task_struct, pid);
}

static __always_inline u32 kernel_number(u64 place)
{
	return KERNEL_CAST(struct task_struct, place)->pid;
}

/* The text at an address, as two words: at most 15 characters, and zeros from its end on. */
static __always_inline void kernel_text_at(u64 address, u64 *text)
{
	const u64 ones = 0x0101010101010101, tops = 0x8080808080808080;
	struct task_struct *named = KERNEL_CAST(
		struct task_struct, address - bpf_core_field_offset(struct task_struct, comm));
	u64 first = *(u64 *)&named->comm[0], second = *(u64 *)&named->comm[8];
	u64 end = (first - ones) & ~first & tops, later = (second - ones) & ~second & tops;
	text[0] = end ? first & (((end & -end) >> 7) - 1) : first;
	second = later ? second & (((later & -later) >> 7) - 1) : second & ~(0xffull << 56);
	text[1] = end ? 0 : second;
}

static __always_inline bool kernel_types_current(void)
{
	return bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_get_current_task_btf);
}

/* The current task, for what is below. Asking is a call: once is enough. */
static __always_inline struct task_struct *kernel_current(void)
{
	if (kernel_types_current())
		return bpf_get_current_task_btf();
	return (void *)bpf_get_current_task();
}

/*
 * A field of the current task. Typed pointers are read without a call, which a helper is for each
 * field where the kernel has none for the current task (before 5.11).
 */
#define KERNEL_CURRENT(current, field)                                                             \
	(kernel_types_current() ? (current)->field : BPF_CORE_READ(current, field))

/* The name of the current task, as two words. */
static __always_inline void kernel_current_comm(struct task_struct *current, u64 *comm)
{
	if (kernel_types_current()) {
		comm[0] = *(u64 *)&current->comm[0];
		comm[1] = *(u64 *)&current->comm[8];
	} else {
		bpf_get_current_comm(comm, 16);
	}
}

/* The same of a task that a typed tracepoint passes. */
static __always_inline void kernel_argument_comm(struct task_struct *task, u64 *comm)
{
	comm[0] = *(u64 *)&task->comm[0];
	comm[1] = *(u64 *)&task->comm[8];
}

static __always_inline unsigned int kernel_task_state(struct task_struct *task)
{
	if (bpf_core_field_exists(task->__state))
		return task->__state;
	return ((struct task_struct___pre_5_14 *)task)->state;
}

static __always_inline u32 kernel_task_cpu(struct task_struct *task)
{
	if (bpf_core_field_exists(task->thread_info.cpu))
		return task->thread_info.cpu;
	if (bpf_core_field_exists(((struct task_struct___pre_5_16 *)task)->cpu))
		return ((struct task_struct___pre_5_16 *)task)->cpu;
	return 0; /* without CONFIG_SMP */
}

/* Whether it runs now. */
static __always_inline bool kernel_task_on_cpu(struct task_struct *task)
{
	if (bpf_core_field_exists(task->on_cpu))
		return task->on_cpu;
	return (u64)task == bpf_get_current_task(); /* without CONFIG_SMP */
}

/* PREEMPT_RT serves softirqs in threads, and these can be preempted meanwhile. */
static __always_inline bool kernel_softirqs_are_preempted(void)
{
	return bpf_core_field_exists(((struct task_struct *)0)->softirq_disable_cnt);
}

/* Whether its group has used up its quota on this CPU. The task is one that a typed program passes. */
static __always_inline bool kernel_task_throttled(struct task_struct *task, u32 cpu)
{
	if (bpf_core_field_exists(task->throttled))
		return task->throttled;
	struct cfs_rq *queue = NULL;
	if (!bpf_core_field_exists(queue->throttle_count)) /* without CONFIG_CFS_BANDWIDTH */
		return false;
	struct cfs_rq **queues = BPF_CORE_READ(task, sched_task_group, cfs_rq);
	bpf_probe_read_kernel(&queue, sizeof(queue), queues + cpu);
	return queue && BPF_CORE_READ(queue, throttle_count);
}

/* The id of a control group's ancestor at a level, which is at most the group's own level. */
static __always_inline u64 kernel_cgroup_ancestor(struct cgroup *cgroup, u32 level, bool casts)
{
	struct cgroup *ancestor = NULL;
	u64 id = 0;
	if (casts) { /* a pointer to a group lies there, as in a css_set */
		u64 place = (u64)cgroup + bpf_core_field_offset(struct cgroup, ancestors) +
			    level * sizeof(ancestor) -
			    bpf_core_field_offset(struct css_set, dfl_cgrp);
		return KERNEL_CAST(struct css_set, place)->dfl_cgrp->kn->id;
	}
	if (bpf_core_field_exists(cgroup->ancestors)) {
		bpf_core_read(&ancestor, sizeof(ancestor), &cgroup->ancestors[level]);
		id = BPF_CORE_READ(ancestor, kn, id);
	} else {
		struct cgroup___pre_6_1 *old = (void *)cgroup;
		bpf_core_read(&id, sizeof(id), &old->ancestor_ids[level]);
	}
	return id;
}

/* The id of the control group (v2) of a task; 0: this kernel has none. */
static __always_inline u64 kernel_task_cgroup(struct task_struct *task)
{
	if (!bpf_core_field_exists(task->cgroups))
		return 0;
	return BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, id);
}

/* As below; `casts`: whether kernel_cast() can be called. */
static __always_inline struct worker *kernel_worker(struct task_struct *task, bool casts)
{
	struct kthread *kthread;
	if (casts) {
		kthread = KERNEL_CAST(struct kthread, (u64)task->worker_private);
		return KERNEL_CAST(struct worker, (u64)kthread->data);
	}
	if (bpf_core_field_exists(task->worker_private))
		kthread = BPF_CORE_READ(task, worker_private);
	else
		kthread =
			(void *)BPF_CORE_READ((struct task_struct___pre_5_17 *)task, set_child_tid);
	return BPF_CORE_READ(kthread, data);
}

/* The work item that a worker executes, and its function; 0: none. */
static __always_inline u64 kernel_worker_item(struct worker *worker, bool casts)
{
	return (u64)(casts ? worker->current_work : BPF_CORE_READ(worker, current_work));
}

static __always_inline u64 kernel_worker_function(struct worker *worker, bool casts)
{
	return (u64)(casts ? worker->current_func : BPF_CORE_READ(worker, current_func));
}

static __always_inline u64 kernel_work_function(u64 work, bool casts)
{
	if (casts)
		return (u64)KERNEL_CAST(struct work_struct, work)->func;
	return (u64)BPF_CORE_READ((struct work_struct *)work, func);
}

/* Grows with each hint fault of a task (task_numa_fault in kernel/sched/fair.c), else only shrinks. */
static __always_inline u64 kernel_numa_hints(struct task_struct *task)
{
	unsigned long pages[3] = {};
	if (bpf_core_field_exists(task->numa_faults_locality))
		bpf_core_read(pages, sizeof(pages), &task->numa_faults_locality);
	return pages[0] + pages[1] + pages[2];
}

/*
 * Whether the current task made a system call, once it is in the kernel: arm64 notes it a moment
 * later. Kernels before 5.15 lack the helper, and refuse the program.
 */
static __always_inline bool kernel_in_system_call(void)
{
	void *regs = (void *)bpf_task_pt_regs(bpf_get_current_task_btf());
#if defined(__TARGET_ARCH_x86)
	return (long)BPF_CORE_READ((struct pt_regs *)regs, orig_ax) >= 0;
#else
	return BPF_CORE_READ((struct pt_regs___arm64 *)regs, syscallno) >= 0;
#endif
}

/* The run queue of this CPU; BTF says how far other per-CPU variables are from it. */
static __always_inline void *kernel_per_cpu_place(struct task_struct *current)
{
	if (!bpf_core_field_exists(((struct cfs_rq *)0)->rq))
		return NULL;
	if (kernel_types_current())
		return current->se.cfs_rq->rq;
	return BPF_CORE_READ(current, se.cfs_rq, rq);
}

/* The tid of the task whose wake-up is queued by this call between CPUs. */
static __always_inline u32 kernel_tid_to_wake(u64 csd, bool casts)
{
	u64 task = csd - bpf_core_field_offset(struct task_struct, wake_entry);
	if (casts)
		return KERNEL_CAST(struct task_struct, task)->pid;
	return BPF_CORE_READ((struct task_struct *)task, pid);
}

#endif
