// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Births and deaths of tasks: children of victims can be victims, state of dead tasks is freed. */
#include "noise.bpf.h"
#include "task_state.bpf.h"

SEC("tp_btf/sched_process_fork")
int task_fork(u64 *ctx)
{
	struct task_struct *parent = (void *)ctx[0], *child = (void *)ctx[1];
	u32 parent_tgid = FIELD(parent, tgid), child_tgid = FIELD(child, tgid), present = 1;
	if (noise_victims != NOISE_VICTIMS_TREE || parent_tgid == child_tgid ||
	    !bpf_map_lookup_elem(&noise_victim_ids, &parent_tgid))
		return 0;
	struct noise_cpu *c = noise_acting_cpu();
	if (bpf_map_update_elem(&noise_victim_ids, &child_tgid, &present, BPF_ANY) && c)
		noise_lose(c, NOISE_LOSS_STATE);
	return 0;
}

/* The kernel reuses task numbers for unrelated tasks. */
SEC("tp_btf/sched_process_free")
int task_free(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	u32 tid = FIELD(task, pid), tgid = FIELD(task, tgid);
	task_state_free(tid);
	if (noise_traces_faults)
		bpf_map_delete_elem(&noise_parked_faults, &tid);
	bool process =
		noise_victims == NOISE_VICTIMS_TREE || noise_victims == NOISE_VICTIMS_PROCESSES;
	if ((process && tid == tgid) || noise_victims == NOISE_VICTIMS_THREADS)
		bpf_map_delete_elem(&noise_victim_ids, &tid);
	return 0;
}
