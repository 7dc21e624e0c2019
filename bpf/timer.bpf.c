// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Timer callbacks by function: high-resolution timers and the timer wheel. */
#include "noise.bpf.h"

NOISE_SOURCE(hrtimer, TIMER, FUNCTION);
NOISE_SOURCE(timer, TIMER, FUNCTION);

/* The second argument was a pointer up to 6.18 and is a value since; it is not needed. */
SEC("tp_btf/hrtimer_expire_entry")
int hrtimer_entry(u64 *ctx)
{
	struct hrtimer *timer = (void *)ctx[0];
	return noise_begin_callback(hrtimer_source, (u64)timer->function, (u64)timer);
}

SEC("tp_btf/hrtimer_expire_exit")
int hrtimer_exit(u64 *ctx)
{
	return noise_end_callback(hrtimer_source);
}

SEC("tp_btf/timer_expire_entry")
int timer_entry(u64 *ctx)
{
	struct timer_list *timer = (void *)ctx[0];
	return noise_begin_callback(timer_source, (u64)timer->function, (u64)timer);
}

SEC("tp_btf/timer_expire_exit")
int timer_exit(u64 *ctx)
{
	return noise_end_callback(timer_source);
}
