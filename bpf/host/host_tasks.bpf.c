// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * An object of its own, loaded for a moment: what numbers the host has for the tasks of a PID
 * namespace, and how deep in the host's hierarchy their control groups are. The programs that trace
 * compare with those.
 */
#include <linux/bpf.h>
#include <linux/types.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "host_tasks.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct pid_namespace {
};

struct upid { /* as large as the kernel's: an index is not relocated */
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

struct cgroup {
	int level;
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

struct task_struct {
	int pid;
	struct pid *thread_pid;
	struct css_set *cgroups;
};

struct seq_file {
};

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

#pragma clang attribute pop

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* The kernel walks the tasks that the reader's PID namespace knows. */
SEC("iter/task")
int host_tasks(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task, *reader = (void *)bpf_get_current_task();
	struct host_task row = {};
	int number = 0;
	if (!task)
		return 0;
	unsigned int level = BPF_CORE_READ(reader, thread_pid, level);
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	if (!pid || BPF_CORE_READ(pid, level) < level) /* a task that has just gone */
		return 0;
	bpf_core_read(&number, sizeof(number), &pid->numbers[level].nr);
	row.number = number;
	row.host_number = BPF_CORE_READ(task, pid);
	if (bpf_core_field_exists(task->cgroups))
		row.cgroup_level = BPF_CORE_READ(task, cgroups, dfl_cgrp, level);
	bpf_seq_write(ctx->meta->seq, &row, sizeof(row));
	return 0;
}
