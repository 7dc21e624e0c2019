// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Entries into the kernel from a victim that runs on a CPU of nohz_full=. Context tracking reports
 * each right after the entry and right before the return (kernel/context_tracking.c). An
 * interruption's frame begins later and ends earlier: the difference is the cost of entering and
 * leaving. What has no tracepoint of its own shows here too. System calls are left out, as the
 * victim asks for them itself, and so is an entry in which the task left its CPU, which is a wait.
 */
#include "fault.bpf.h"
#include "noise.bpf.h"

NOISE_SOURCE(interruption, "entry", NONE); /* the time around nested frames */
NOISE_SOURCE(page_fault, "entry", NONE);
NOISE_SOURCE(other, "entry", NONE);

static __always_inline u64 entry_switches(struct task_struct *task)
{
	return BPF_CORE_READ(task, nvcsw) + BPF_CORE_READ(task, nivcsw);
}

SEC("tp_btf/user_exit")
int entry_begin(u64 *ctx)
{
	struct noise_cpu *c = noise_synced_cpu();
	if (!c)
		return 0;
	struct noise_entry *entry = &c->entry;
	entry->start_ns = 0;
	if (c->tid != c->victim_tid || kernel_in_system_call())
		return 0;
	struct task_struct *task = (void *)bpf_get_current_task();
	entry->tid = c->tid;
	entry->faults = fault_count(task);
	entry->switches = entry_switches(task);
	entry->start_ns = noise_now(c, NOISE_LEVEL_THREAD, &entry->closed_ns);
	return 0;
}

SEC("tp_btf/user_enter")
int entry_end(u64 *ctx)
{
	struct noise_cpu *c = noise_this_cpu();
	if (!c || !c->entry.start_ns)
		return 0;
	struct noise_entry *entry = &c->entry;
	struct task_struct *task = (void *)bpf_get_current_task();
	u64 closed_ns, now_ns = noise_now(c, NOISE_LEVEL_THREAD, &closed_ns);
	u64 start_ns = entry->start_ns;
	u64 gross_ns = now_ns - start_ns, nested_ns = closed_ns - entry->closed_ns;
	entry->start_ns = 0;
	if (entry->tid != BPF_CORE_READ(task, pid) || entry->switches != entry_switches(task) ||
	    kernel_in_system_call())
		return 0;
	u32 source = nested_ns ? interruption_source : other_source;
	if (entry->faults != fault_count(task))
		source = page_fault_source;
	if (nested_ns > gross_ns)
		noise_lose(c, NOISE_LOSS_NEGATIVE);
	noise_record_side(c, source, source, start_ns, now_ns,
			  nested_ns > gross_ns ? 0 : gross_ns - nested_ns);
	return 0;
}
