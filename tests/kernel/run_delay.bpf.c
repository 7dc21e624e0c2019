// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * How old the clock is that the kernel reads for the run delay of a task: that of its run queue
 * (sched_info_enqueue(), _arrive() and _depart() in kernel/sched/stats.h). A line for each end of a
 * wait of one process is kept for run_delay.c.
 */
#include <stdbool.h>
#include <linux/bpf.h>
#include <linux/types.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "run_delay.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct rq {
	__u64 clock;
	int cpu;
};

struct cfs_rq {
	struct rq *rq;
};

struct sched_entity {
	struct cfs_rq *cfs_rq;
};

struct sched_info {
	unsigned long long last_queued;
};

struct task_struct {
	int pid;
	int tgid;
	unsigned int __state;
	struct sched_entity se;
	struct sched_info sched_info;
};

struct task_struct___before_5_14 {
	long state;
};

#pragma clang attribute pop

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, MOMENTS_BYTES);
} moments SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} moments_lost SEC(".maps");

const volatile int watched_tgid;

static __always_inline int lose(void)
{
	__u32 zero = 0;
	__u64 one = 1;
	bpf_map_update_elem(&moments_lost, &zero, &one, BPF_ANY);
	return 0;
}

static __always_inline int note(struct task_struct *task, __u32 what)
{
	if (task->tgid != watched_tgid)
		return 0;
	struct moment *moment = bpf_ringbuf_reserve(&moments, sizeof(*moment), 0);
	if (!moment)
		return lose();
	struct rq *rq = BPF_CORE_READ(task, se.cfs_rq, rq);
	moment->tid = task->pid;
	moment->cpu = BPF_CORE_READ(rq, cpu);
	moment->what = what;
	moment->queued_ns = task->sched_info.last_queued;
	moment->clock_ns = BPF_CORE_READ(rq, clock);
	moment->now_ns = bpf_ktime_get_ns();
	bpf_ringbuf_submit(moment, BPF_RB_NO_WAKEUP);
	return 0;
}

static __always_inline bool could_go_on(struct task_struct *task)
{
	if (bpf_core_field_exists(task->__state))
		return !BPF_CORE_READ(task, __state);
	return !BPF_CORE_READ((struct task_struct___before_5_14 *)task, state);
}

SEC("tp_btf/sched_switch")
int delay_switch(__u64 *ctx)
{
	if (ctx[0] || could_go_on((void *)ctx[1]))
		note((void *)ctx[1], MOMENT_DEPARTS);
	return note((void *)ctx[2], MOMENT_ARRIVES);
}

SEC("tp_btf/sched_wakeup")
int delay_wakeup(__u64 *ctx)
{
	return note((void *)ctx[0], MOMENT_WOKEN);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
