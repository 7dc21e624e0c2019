/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel fields that the programs read, and no others: CO-RE relocates them to where the
 * running kernel has them. A ___suffix marks how an older kernel names or types the same thing.
 */
#ifndef NOISETOP_KERNEL_H
#define NOISETOP_KERNEL_H

#include <stdbool.h>
#include <linux/bpf.h>
#include <linux/types.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

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

struct task_struct {
	struct thread_info thread_info;
	unsigned int __state;
	unsigned int flags;
	int on_cpu;
	int pid;
	int tgid;
	const struct cpumask *cpus_ptr;
	struct sched_entity se;
	struct task_group *sched_task_group;
	struct css_set *cgroups;
	bool throttled; /* quota used up, per task since 6.18 */
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
	void *function;
	struct hrtimer_clock_base *base;
};

struct timer_list {
	void *function;
	u32 flags;
};

struct work_struct {
	void *func;
};

#pragma clang attribute pop

#endif
