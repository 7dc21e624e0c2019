// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Timer callbacks by function: high-resolution timers and the timer wheel. */
#include "interrupt.bpf.h"
#include "noise.bpf.h"
#include "wheel_arm.bpf.h"

NOISE_SOURCE(hrtimer, "timer", FUNCTION);
NOISE_SOURCE(timer, "timer", FUNCTION);
NOISE_SOURCE(timer_wheel, "timer", NONE);

/*
 * Timers of the softirq run with interrupts on, so those of the interrupt can hit while a program
 * of the same tracepoint runs, and the kernel skips a program that is running. Hence each program
 * here has a twin, and both do their work only where it is not done yet: of two hits that nest,
 * one of the twins always sees the inner one. What the kernel counts as their misses is no loss.
 *
 * A second program makes each hit dearer, and most CPUs have no timer of the softirq: the second
 * ones are attached once a watched CPU has met one. What is missed until then is counted here.
 */
static __always_inline void hrtimer_begin_at(struct noise_cpu *c, u32 level, struct hrtimer *timer)
{
	if (noise_has_open(c, level, hrtimer_source) &&
	    c->frames[level & (NOISE_LEVELS - 1)].object == (u64)timer)
		return;
	u64 function = (u64)FIELD(timer, function);
	if (function == noise_tick_function)
		c->tick_expires_ns = FIELD(timer, _softexpires);
	noise_open(c, level, hrtimer_source, function, (u64)timer);
}

/* Interrupts are the many: their place is known when this is compiled. */
static __always_inline int hrtimer_begin(u64 *ctx)
{
	struct hrtimer *timer = (void *)ctx[0];
	struct noise_cpu *c = noise_wanting_cpu();
	if (!c)
		return 0;
	if (c->open_levels & LEVEL_BIT(IRQ)) {
		hrtimer_begin_at(c, NOISE_LEVEL_IRQ_CALLBACK, timer);
	} else {
		if (FIELD(timer, is_soft)) /* not one of an interrupt that began unseen */
			c->softirq_timers = true;
		hrtimer_begin_at(c, noise_callback_level(c), timer);
	}
	return 0;
}

/*
 * While the tick is stopped, its timer waits for the first timer of the wheel, and its function
 * only raises their softirq. The difference shows in the timer: a running tick advances it before
 * it returns, a stopped one leaves that to the idle loop or the end of the interrupt. See
 * tick_nohz_handler(), up to 6.8 tick_sched_timer(), in kernel/time/tick-sched.c. Only that timer is
 * read here: it stays, and any other may be gone.
 */
static __always_inline bool hrtimer_serves_wheel(struct noise_cpu *c, struct noise_frame *frame,
						 struct hrtimer *timer)
{
	return frame->id == noise_tick_function &&
	       c->tick_expires_ns == (u64)FIELD(timer, _softexpires);
}

/* Whether what begins at `level` was seen. The first twin comes before the second has closed it. */
static __always_inline bool hrtimer_is_open(struct noise_cpu *c, u32 level, bool first)
{
	return first ? noise_is_open(c, level, hrtimer_source)
		     : noise_has_open(c, level, hrtimer_source);
}

static __always_inline void hrtimer_end_at(struct noise_cpu *c, u32 level, u64 *ctx,
					   bool in_interrupt, bool first)
{
	struct noise_frame *frame = &c->frames[level & (NOISE_LEVELS - 1)];
	struct hrtimer *timer = (void *)ctx[0];
	u64 address = (u64)timer;
	asm volatile("" : "+r"(address)); /* else the frame's is read through, which has no type */
	if (!hrtimer_is_open(c, level, first) || frame->object != address)
		return;
	u8 source = hrtimer_source;
	if (hrtimer_serves_wheel(c, frame, timer)) {
		source = timer_wheel_source;
		frame->id = 0;
	}
	if (in_interrupt)
		noise_hold_callback(c, source);
	else
		noise_close_and_commit(c, level, source, 0);
}

static __always_inline int hrtimer_end(u64 *ctx, bool first)
{
	struct noise_cpu *c = noise_ending_cpu();
	if (!c)
		return 0;
	if (c->open_levels & LEVEL_BIT(IRQ))
		hrtimer_end_at(c, NOISE_LEVEL_IRQ_CALLBACK, ctx, true, first);
	else
		hrtimer_end_at(c, noise_callback_level(c), ctx, false, first);
	return 0;
}

/* The second argument was a pointer up to 6.18 and is a value since; it is not needed. */
SEC("tp_btf/hrtimer_expire_entry")
int hrtimer_entry_twin_1(u64 *ctx)
{
	return hrtimer_begin(ctx);
}

SEC("tp_btf/hrtimer_expire_entry")
int hrtimer_entry_twin_2(u64 *ctx)
{
	return hrtimer_begin(ctx);
}

SEC("tp_btf/hrtimer_expire_exit")
int hrtimer_exit_twin_1(u64 *ctx)
{
	return hrtimer_end(ctx, true);
}

SEC("tp_btf/hrtimer_expire_exit")
int hrtimer_exit_twin_2(u64 *ctx)
{
	return hrtimer_end(ctx, false);
}

SEC("tp_btf/timer_expire_entry")
int timer_entry(u64 *ctx)
{
	struct timer_list *timer = (void *)ctx[0];
	wheel_arm_tell(timer);
	return noise_begin_callback(timer_source, (u64)FIELD(timer, function), (u64)timer);
}

SEC("tp_btf/timer_expire_exit")
int timer_exit(u64 *ctx)
{
	return noise_end_callback(timer_source);
}
