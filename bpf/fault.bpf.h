/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A page fault belongs to its task, not to the CPU that it began on. It is kept with the CPU while
 * the task runs, and under the task's number while it does not. Run time and sleep are added up
 * separately, whichever CPUs the task ran on.
 */
#ifndef NOISETOP_FAULT_BPF_H
#define NOISETOP_FAULT_BPF_H

#include "noise.bpf.h"
#include "wait.bpf.h"

/* Page faults that a task has completed. */
static __always_inline u64 fault_count(struct task_struct *task)
{
	return BPF_CORE_READ(task, min_flt) + BPF_CORE_READ(task, maj_flt);
}

static __always_inline struct noise_fault *fault_of_cpu(void)
{
	u32 first = 0;
	return bpf_map_lookup_elem(&noise_open_faults, &first);
}

/* Adds what the task ran since it came to this CPU, as of now, which is returned. */
static __always_inline u64 fault_account(struct noise_cpu *c, struct noise_fault *fault)
{
	u64 closed_ns, now_ns = noise_now(c, NOISE_LEVEL_THREAD, &closed_ns);
	u64 gross_ns = now_ns - fault->since_ns, nested_ns = closed_ns - fault->closed_ns;
	if (nested_ns > gross_ns)
		noise_lose(c, NOISE_LOSS_NEGATIVE);
	else
		fault->ran_ns += gross_ns - nested_ns;
	return now_ns;
}

/*
 * The task leaves its CPU. Called before its thread's frame is closed: that time is the task's own,
 * not an interruption of the fault.
 */
static __noinline int fault_park(struct noise_cpu *c, u32 tid, bool runnable)
{
	struct noise_fault *fault = fault_of_cpu();
	if (!c || !fault || !fault->tid)
		return 0;
	if (fault->tid == tid) { /* else a switch was not reported */
		u64 now_ns = fault_account(c, fault);
		fault->left_ns = runnable ? 0 : now_ns;
		if (bpf_map_update_elem(&noise_parked_faults, &tid, fault, BPF_ANY))
			noise_lose(c, NOISE_LOSS_STATE);
	}
	fault->tid = 0;
	return 0;
}

/* Adds the sleep up to the wake-up. What follows is a wait for a CPU, which is noise. */
static __always_inline void fault_account_sleep(struct noise_cpu *c, struct noise_fault *fault)
{
	struct noise_task *state = task_state(c, fault->tid, false);
	u64 until_ns = state && state->wait ? state->since_ns : bpf_ktime_get_ns();
	if (until_ns <= fault->left_ns)
		return;
	if (!fault->slept_ns)
		fault->slept_from_ns = fault->left_ns;
	fault->slept_ns += until_ns - fault->left_ns;
	fault->slept_until_ns = until_ns;
}

/* The task is back on a CPU, and its wait is not recorded yet. */
static __noinline int fault_resume(struct noise_cpu *c, u32 tid)
{
	struct noise_fault *parked = bpf_map_lookup_elem(&noise_parked_faults, &tid);
	struct noise_fault *fault = fault_of_cpu();
	if (!c || !parked || !fault)
		return 0;
	*fault = *parked;
	bpf_map_delete_elem(&noise_parked_faults, &tid);
	if (fault->left_ns)
		fault_account_sleep(c, fault);
	fault->since_ns = noise_now(c, NOISE_LEVEL_THREAD, &fault->closed_ns);
	return 0;
}

#endif
