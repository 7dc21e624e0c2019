// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Victims that the scheduler moves off a watched CPU: what they had in its caches stays behind.
 * Instants, not intervals, so not noise. Recorded on the CPU that the task leaves, whoever moves it;
 * at the tracepoint the task still has its old CPU.
 */
#include "noise.bpf.h"

NOISE_SOURCE(moved_away, "migration", NONE);

SEC("tp_btf/sched_migrate_task")
int migration_moves(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	u32 cpu = kernel_task_cpu(task);
	if (!noise_is_watched(cpu) || !noise_is_victim(task, FIELD(task, tgid), FIELD(task, flags)))
		return 0;
	struct noise_cpu *c = noise_cpu_of(bpf_get_smp_processor_id());
	if (!c)
		return 0;
	struct noise_event event = {
		.start_ns = bpf_ktime_get_ns(),
		.tid = BPF_CORE_READ((struct task_struct *)bpf_get_current_task(), pid),
		.victim_tid = FIELD(task, pid),
		.cpu = cpu,
		.source = moved_away_source,
		.parent_source = moved_away_source,
		.level = NOISE_LEVEL_SIDE,
	};
	noise_record(c, &event);
	return 0;
}
