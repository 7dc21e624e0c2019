// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Who sends interrupts to watched CPUs. Function calls carry the object that the target reports
 * later; the others are matched by the target CPU alone.
 */
#include "noise.bpf.h"
#include "trigger.bpf.h"
#include "wait.bpf.h"

NOISE_TRIGGER(csd_queue, csd, "ipi");
NOISE_TRIGGER(reschedule_send, reschedule, "ipi");
NOISE_TRIGGER(irq_work_send, irq_work, "ipi");

/* Raw: a typed tracepoint must not read a function pointer from its arguments. */
SEC("raw_tp/csd_queue_cpu")
int csd_queue(u64 *ctx)
{
	u32 cpu = ctx[0];
	struct noise_cpu *c = noise_is_watched(cpu) ? noise_acting_cpu() : NULL;
	if (!c)
		return 0;
	struct task_struct *current = kernel_current();
	u8 context = trigger_context(c, current);
	if (noise_queued_wakeup && ctx[2] == noise_queued_wakeup)
		wait_note_queued(c, ctx[3], current, context);
	struct trigger trigger = {
		.object = ctx[3],
		.function = ctx[2],
		.stack = trigger_stack(ctx),
		.user_stack = trigger_user_stack(ctx, context),
		.target_cpu = cpu,
		.source = csd_queue_source,
		.context = context,
	};
	return trigger_emit(c, current, &trigger);
}

/*
 * A NULL callback is a reschedule. That of smp.c announces a queue, on which csd_queue_cpu reports
 * more. Any other is the function of an irq_work.
 */
static __always_inline bool ipi_is_told(u64 callback)
{
	return !callback || callback != noise_csd_callback;
}

/* To a CPU that is filled in. */
static __always_inline struct trigger ipi_trigger(void *ctx, struct noise_cpu *c,
						  struct task_struct *current, u64 callback)
{
	u8 context = trigger_context(c, current);
	return (struct trigger){
		.function = callback,
		.stack = trigger_stack(ctx),
		.user_stack = trigger_user_stack(ctx, context),
		.source = callback ? irq_work_send_source : reschedule_send_source,
		.context = context,
	};
}

SEC("raw_tp/ipi_send_cpu")
int ipi_send_cpu(u64 *ctx)
{
	u32 cpu = ctx[0];
	if (!noise_is_watched(cpu) || !ipi_is_told(ctx[2]))
		return 0;
	struct noise_cpu *c = noise_acting_cpu();
	if (!c)
		return 0;
	struct task_struct *current = kernel_current();
	struct trigger trigger = ipi_trigger(ctx, c, current, ctx[2]);
	trigger.target_cpu = cpu;
	return trigger_emit(c, current, &trigger);
}

SEC("raw_tp/ipi_send_cpumask")
int ipi_send_cpumask(u64 *ctx)
{
	const struct cpumask *mask = (void *)ctx[0];
	u64 bits = 0;
	if (!noise_watched_bits || !ipi_is_told(ctx[2]))
		return 0;
	bpf_core_read(&bits, sizeof(bits), &mask->bits[noise_watched_word]);
	bits &= noise_watched_bits;
	struct noise_cpu *c = bits ? noise_acting_cpu() : NULL;
	if (!c)
		return 0;
	struct task_struct *current = kernel_current();
	struct trigger trigger = ipi_trigger(ctx, c, current, ctx[2]);
	for (u32 bit = 0; bit < 64; bit++) {
		trigger.target_cpu = noise_watched_word * 64 + bit;
		if (bits & 1ull << bit)
			trigger_emit(c, current, &trigger);
	}
	return 0;
}
