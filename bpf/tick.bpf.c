// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Whether the tick could be stopped, and what kept it running. */
#include "noise.bpf.h"

/*
 * A mask of one bit: the kernel reports the first dependency that it meets
 * (check_tick_dependency(), kernel/time/tick-sched.c).
 */
static __always_inline u32 tick_reason(u32 dependency)
{
	for (u32 bit = 0; bit + 1 < NOISE_TICK_OTHER; bit++)
		if (dependency & 1u << bit)
			return bit + 1;
	return NOISE_TICK_OTHER;
}

/*
 * With success only when a running tick stops, without it at each attempt that fails: when the CPU
 * goes idle, and where nohz_full= names it after interrupts and task switches. Interrupts are off.
 * Raw, so that the kernel can be asked to run it with any arguments (BPF_PROG_TEST_RUN).
 */
SEC("raw_tp/tick_stop")
int tick_stop(u64 *ctx)
{
	struct noise_cpu *c = noise_this_cpu();
	if (!c)
		return 0;
	u32 reason = (int)ctx[0] ? NOISE_TICK_STOPPED : tick_reason(ctx[1]);
	c->ticks[reason & (NOISE_TICKS - 1)]++;
	return 0;
}
