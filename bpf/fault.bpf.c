// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Page faults of victims: self-inflicted, so not noise. The kernel's software events report each:
 * one when it begins, and one by kind when it is handled, right after the task's min_flt or maj_flt
 * was raised (mm_account_fault in mm/memory.c, since 5.9). They exist on every architecture and
 * need no function to hook. Attached to watched CPUs only when faults are asked for, with a period
 * of 1: each runs its program and leaves no sample.
 */
#include "fault.bpf.h"
#include "noise.bpf.h"

NOISE_SOURCE(minor, "fault", NONE);
NOISE_SOURCE(major, "fault", NONE);
/* NUMA balancing had unmapped the page to learn who uses it; the kernel counts it as minor. */
NOISE_SOURCE(numa_hint, "fault", NONE);
/* How long a fault slept; its kind is the parent source. */
NOISE_SOURCE(asleep, "fault", NONE);

/*
 * The state of this CPU when a victim runs on it, else NULL. Some guests' kernels do not report all
 * switches: the start of this task's run is then unknown, and its faults are lost when they end.
 */
static __always_inline struct noise_cpu *fault_cpu(struct task_struct *task, bool ends)
{
	struct noise_cpu *c = noise_synced_cpu();
	if (!c)
		return NULL;
	if (c->tid == BPF_CORE_READ(task, pid))
		return c->tid == c->victim_tid ? c : NULL;
	if (ends && noise_is_victim(task, BPF_CORE_READ(task, pid), BPF_CORE_READ(task, tgid),
				    BPF_CORE_READ(task, flags), false))
		noise_lose(c, NOISE_LOSS_UNBALANCED);
	return NULL;
}

/* A fault that fails, as an access out of bounds does, never ends: the next one takes its place. */
SEC("perf_event")
int fault_begin(void *ctx)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct noise_cpu *c = fault_cpu(task, false);
	struct noise_fault *fault = fault_of_cpu();
	if (!c || !fault)
		return 0;
	u64 done = fault_count(task);
	if (fault->tid == c->tid && fault->done != done) /* its end was missed */
		noise_lose(c, NOISE_LOSS_UNBALANCED);
	fault->done = done;
	fault->hints = kernel_numa_hints(task);
	fault->ran_ns = 0;
	fault->slept_ns = 0;
	fault->tid = c->tid;
	fault->start_ns = noise_now(c, NOISE_LEVEL_THREAD, &fault->closed_ns);
	fault->since_ns = fault->start_ns;
	return 0;
}

static __always_inline int fault_end(u32 kind)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct noise_cpu *c = fault_cpu(task, true);
	struct noise_fault *fault = fault_of_cpu();
	if (!c || !fault)
		return 0;
	/* It began on an unwatched CPU, before we attached, or before a switch that was not reported. */
	if (fault->tid != c->tid || fault->done + 1 != fault_count(task)) {
		fault->tid = 0;
		noise_lose(c, NOISE_LOSS_UNBALANCED);
		return 0;
	}
	u64 now_ns = fault_account(c, fault);
	fault->tid = 0;
	if (kind == minor_source && fault->hints != kernel_numa_hints(task))
		kind = numa_hint_source;
	noise_record_side(c, kind, kind, fault->start_ns, now_ns, fault->ran_ns);
	if (fault->slept_ns)
		noise_record_side(c, asleep_source, kind, fault->slept_from_ns,
				  fault->slept_until_ns, fault->slept_ns);
	return 0;
}

SEC("perf_event")
int fault_minor(void *ctx)
{
	return fault_end(minor_source);
}

SEC("perf_event")
int fault_major(void *ctx)
{
	return fault_end(major_source);
}
