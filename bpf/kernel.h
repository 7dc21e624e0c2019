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

struct task_struct {
	unsigned int __state;
	unsigned int flags;
	int pid;
	int tgid;
	char comm[16];
	void *worker_private; /* struct kthread, since 5.17 (e32cf5dfbe22) */
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

struct worker { /* kernel/workqueue_internal.h */
	void (*current_func)(void *);
};

struct irqaction {
	const char *name;
};

struct hrtimer {
	void *function;
};

struct timer_list {
	void *function;
};

struct work_struct {
	void *func;
};

#pragma clang attribute pop

#endif
