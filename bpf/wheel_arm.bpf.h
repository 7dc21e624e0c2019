/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Timers of the wheel that a CPU has armed for itself. Nearly all are timeouts: they are put off or
 * deleted before they expire. So who armed one waits in a place of that timer, behind the rings of
 * its CPU, and is recorded when the timer expires or when another one needs the place.
 */
#ifndef NOISETOP_WHEEL_ARM_BPF_H
#define NOISETOP_WHEEL_ARM_BPF_H

#include "noise.bpf.h"
#include "trigger.bpf.h"

#define TIMER_CPUMASK 0x0003ffff /* include/linux/timer.h */

/*
 * Whether an arming may wait. Not what interrupts may do, as a timer expires with interrupts on:
 * nobody else writes a place while it is looked at. PREEMPT_RT lets tasks do that as well.
 */
static __always_inline bool wheel_arm_waits(struct noise_cpu *c, u32 target_cpu, u8 context)
{
	return c && c->cpu == target_cpu && !kernel_softirqs_are_preempted() &&
	       (context == NOISE_CONTEXT_TASK || context == NOISE_CONTEXT_SOFTIRQ);
}

/* Where who armed a timer waits, on a CPU; `c` is this one. */
static __always_inline struct noise_trigger *wheel_arm_place(struct noise_cpu *c,
							     struct noise_cpu *armed_on, u64 timer)
{
	WRITE_ONCE(c->number, timer);
	u32 index = armed_on->first_record + armed_on->ring_mask + 1 +
		    (NOISE_RINGS - 1) * NOISE_NESTED_RECORDS;
	index += READ_ONCE(c->number) * 0x9e3779b97f4a7c15ull >> (64 - NOISE_WHEEL_ARMS_BITS);
	struct noise_group *group = noise_group_of(index);
	return group ? (void *)&group->records[index % NOISE_GROUP_RECORDS] : NULL;
}

/* Records who armed a timer, from the place where that waits, on this CPU. */
static __always_inline void wheel_arm_record(struct noise_cpu *c, struct noise_trigger *place,
					     u64 timer)
{
	u32 writer;
	struct noise_trigger *record = (void *)noise_claim(c, &writer, 0);
	if (record)
		*record = *place;
	else
		noise_lose(c, NOISE_LOSS_TRIGGER);
	barrier();
	/* Another CPU whose timer this is may have put another one there meanwhile. */
	if (record && (place->object != timer || place->time_ns != record->time_ns))
		record = NULL;
	noise_commit(c, (void *)record, writer);
}

/* Whether it is put off by the one who armed it. A worker may work on something else by now. */
static __always_inline bool wheel_arm_is_same(struct noise_cpu *c, struct task_struct *current,
					      const struct noise_trigger *place,
					      const struct trigger *trigger)
{
	return place->tid == KERNEL_CURRENT(current, pid) && place->context == trigger->context &&
	       place->root == noise_root(c) && place->function == trigger->function &&
	       place->user_stack == trigger->user_stack &&
	       !(KERNEL_CURRENT(current, flags) & PF_WQ_WORKER);
}

/* Notes who arms a timer; the interrupts of this CPU are off. */
static __always_inline int wheel_arm(struct noise_cpu *c, struct task_struct *current,
				     const struct trigger *trigger)
{
	struct noise_trigger *place = wheel_arm_place(c, c, trigger->object);
	if (!place)
		return 0;
	u64 other = place->object;
	if (other == trigger->object && wheel_arm_is_same(c, current, place, trigger)) {
		place->time_ns = bpf_ktime_get_ns();
		return 0;
	}
	if (other && other != trigger->object)
		wheel_arm_record(c, place, other);
	place->object = 0;
	barrier();
	trigger_emit_current_name(c, current);
	trigger_fill(c, current, place, trigger, bpf_ktime_get_ns());
	return 0;
}

/*
 * Records who armed a timer that expires now. A CPU that is idle may leave that to another one
 * (timer_expire_remote(), since 6.9): what waits there stays.
 */
static __always_inline void wheel_arm_tell(struct timer_list *timer)
{
	struct noise_cpu *c = noise_wanting_cpu();
	u32 cpu = FIELD(timer, flags) & TIMER_CPUMASK;
	struct noise_cpu *armed_on = noise_is_watched(cpu) ? noise_cpu_of(cpu) : NULL;
	if (!c || !armed_on)
		return;
	struct noise_trigger *place = wheel_arm_place(c, armed_on, (u64)timer);
	if (!place || place->object != (u64)timer)
		return;
	wheel_arm_record(c, place, (u64)timer);
	if (cpu == c->cpu)
		place->object = 0;
}

#endif
