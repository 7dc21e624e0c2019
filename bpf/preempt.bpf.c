// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Who asks for the task that runs on a watched CPU to be preempted, on kernels after 6.12. It is told before the
 * task is, by whoever asks and on the CPU of that, with the run queue of the watched one locked.
 */
#include "trigger.bpf.h"

/* Whether the tick of this CPU is what runs now. */
static __always_inline bool preempt_by_tick(struct noise_cpu *c)
{
	return c->cpu == bpf_get_smp_processor_id() && c->open_levels & LEVEL_BIT(IRQ_CALLBACK) &&
	       noise_tick_function && c->frames[NOISE_LEVEL_IRQ_CALLBACK].id == noise_tick_function;
}

static __noinline int preempt_note(struct noise_cpu *c, u32 bit)
{
	if (!c)
		return 0;
	struct task_struct *task = (void *)bpf_get_current_task();
	u32 context = trigger_context();
	u32 tid = context == NOISE_CONTEXT_TASK ? BPF_CORE_READ(task, pid) : 0;
	struct noise_cpu *here = noise_cpu_of(bpf_get_smp_processor_id());
	if (context == NOISE_CONTEXT_IRQ && preempt_by_tick(c))
		context = NOISE_CONTEXT_TICK;
	c->asker = tid ? tid : NOISE_WAKER_CONTEXT + context;
	c->asker_cpu = bpf_get_smp_processor_id();
	c->asker_bit = bit;
	if (tid && here)
		trigger_tell_name(here, task);
	return 0;
}

/*
 * A request to do so when convenient is made urgent by a later one: the first asker is the one that
 * wanted it, as long as its bit is still set. A CPU that idles has nobody to preempt.
 */
SEC("tp_btf/sched_set_need_resched_tp")
int preempt_ask(u64 *ctx)
{
	struct task_struct *running = (void *)ctx[0];
	u32 cpu = ctx[1];
	if (!noise_is_watched(cpu) || !FIELD(running, pid))
		return 0;
	struct noise_cpu *c = noise_cpu_of(cpu);
	if (!c || (c->asker && FIELD(running, thread_info.flags) & 1ul << (c->asker_bit & 31)))
		return 0;
	return preempt_note(c, ctx[2]);
}
