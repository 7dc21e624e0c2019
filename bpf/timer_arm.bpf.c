// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Who arms the timers that expire on watched CPUs, keyed by the timer. */
#include "noise.bpf.h"
#include "trigger.bpf.h"

NOISE_TRIGGER(hrtimer_start, hrtimer, "timer");
NOISE_TRIGGER(timer_start, timer, "timer");

#define TIMER_CPUMASK 0x0003ffff /* include/linux/timer.h */

/*
 * A timer that its own callback arms again keeps its first trigger. The kernel arms it after it has
 * reported the end of the callback, so the closed frame is compared.
 */
static __always_inline bool arm_is_rearmed(u64 timer)
{
	struct noise_cpu *c = noise_this_cpu();
	if (!c)
		return false;
	u32 level = noise_callback_level(c);
	return level != NOISE_LEVEL_WORK && c->frames[level & (NOISE_LEVELS - 1)].object == timer;
}

static __always_inline int arm(void *ctx, u32 source, u32 cpu, u64 timer, u64 function)
{
	if (!noise_is_watched(cpu) || arm_is_rearmed(timer))
		return 0;
	u8 context = trigger_context();
	struct trigger trigger = {
		.object = timer,
		.function = function,
		.stack = NOISE_NO_STACK,
		.user_stack = trigger_user_stack(ctx, context),
		.target_cpu = cpu,
		.source = source,
		.context = context,
	};
	return trigger_emit(&trigger);
}

SEC("tp_btf/hrtimer_start")
int hrtimer_start(u64 *ctx)
{
	struct hrtimer *timer = (void *)ctx[0];
	return arm(ctx, hrtimer_start_source, FIELD(FIELD(FIELD(timer, base), cpu_base), cpu),
		   (u64)timer, (u64)FIELD(timer, function));
}

SEC("tp_btf/timer_start")
int timer_start(u64 *ctx)
{
	struct timer_list *timer = (void *)ctx[0];
	return arm(ctx, timer_start_source, FIELD(timer, flags) & TIMER_CPUMASK, (u64)timer,
		   (u64)FIELD(timer, function));
}
