// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Who arms the timers that expire on watched CPUs, keyed by the timer. */
#include "noise.bpf.h"
#include "trigger.bpf.h"
#include "wheel_arm.bpf.h"

NOISE_TRIGGER(hrtimer_start, hrtimer, "timer");
NOISE_TRIGGER(timer_start, timer, "timer");

/*
 * A timer that its own callback arms again keeps its first trigger. The kernel arms it after it has
 * reported the end of the callback, so the closed frame is compared.
 */
static __always_inline bool arm_is_rearmed(struct noise_cpu *c, u64 timer)
{
	if (c->watch == NOISE_WATCH_NONE)
		return false;
	u32 level = noise_callback_level(c);
	return level != NOISE_LEVEL_WORK && c->frames[level & (NOISE_LEVELS - 1)].object == timer;
}

static __always_inline struct trigger arm_trigger(void *ctx, struct noise_cpu *c,
						  struct task_struct *current, u32 source, u32 cpu,
						  u64 timer, u64 function)
{
	u8 context = trigger_context(c, current);
	return (struct trigger){
		.object = timer,
		.function = function,
		.stack = NOISE_NO_STACK,
		.user_stack = trigger_user_stack(ctx, context),
		.target_cpu = cpu,
		.source = source,
		.context = context,
	};
}

/* That of the tick is armed by the tick itself, and by the idle loop more often than anything. */
SEC("tp_btf/hrtimer_start")
int hrtimer_start(u64 *ctx)
{
	struct hrtimer *timer = (void *)ctx[0];
	u64 function = (u64)FIELD(timer, function);
	u32 cpu = FIELD(FIELD(FIELD(timer, base), cpu_base), cpu);
	if (!noise_is_watched(cpu) || function == noise_tick_function)
		return 0;
	struct noise_cpu *c = noise_acting_cpu();
	if (!c || arm_is_rearmed(c, (u64)timer))
		return 0;
	struct task_struct *current = kernel_current();
	struct trigger trigger =
		arm_trigger(ctx, c, current, hrtimer_start_source, cpu, (u64)timer, function);
	return trigger_emit(c, current, &trigger);
}

SEC("tp_btf/timer_start")
int timer_start(u64 *ctx)
{
	struct timer_list *timer = (void *)ctx[0];
	u32 cpu = FIELD(timer, flags) & TIMER_CPUMASK;
	struct noise_cpu *c = noise_is_watched(cpu) ? noise_acting_cpu() : NULL;
	if (!c || arm_is_rearmed(c, (u64)timer))
		return 0;
	struct task_struct *current = kernel_current();
	struct trigger trigger = arm_trigger(ctx, c, current, timer_start_source, cpu, (u64)timer,
					     (u64)FIELD(timer, function));
	if (wheel_arm_waits(c, cpu, trigger.context))
		return wheel_arm(c, current, &trigger);
	return trigger_emit(c, current, &trigger);
}
