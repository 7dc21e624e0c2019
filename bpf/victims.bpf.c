// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Processes that victims start are victims, where that was asked for. */
#include "wait.bpf.h"

SEC("tp_btf/sched_process_fork")
int victims_fork(u64 *ctx)
{
	struct task_struct *parent = (void *)ctx[0], *child = (void *)ctx[1];
	u32 parent_tgid = parent->tgid, child_tgid = child->tgid, present = 1;
	if (noise_victims != NOISE_VICTIMS_TREE || parent_tgid == child_tgid ||
	    !bpf_map_lookup_elem(&noise_victim_tgids, &parent_tgid))
		return 0;
	struct noise_cpu *c = noise_cpu_of(bpf_get_smp_processor_id());
	if (bpf_map_update_elem(&noise_victim_tgids, &child_tgid, &present, BPF_ANY) && c)
		noise_lose(c, NOISE_LOSS_STATE);
	return 0;
}

/* The number may be given to a process that has nothing to do with them. */
SEC("tp_btf/sched_process_free")
int victims_free(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	u32 tgid = task->tgid;
	if (noise_victims == NOISE_VICTIMS_TREE && task->pid == tgid)
		bpf_map_delete_elem(&noise_victim_tgids, &tgid);
	return 0;
}
