/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the iterator of host_tasks.bpf.c writes, a row for each task. */
#ifndef NOISETOP_HOST_TASKS_BPF_H
#define NOISETOP_HOST_TASKS_BPF_H

struct host_task {
	__u32 number;       /* in the PID namespace of the reader */
	__u32 host_number;  /* in the first one */
	__u32 cgroup_level; /* depth of its control group (v2) below the host's root */
};

#endif
