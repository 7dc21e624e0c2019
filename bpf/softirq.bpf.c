// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Softirqs by vector, and the tasklets that two of them run. */
#include "softirq.bpf.h"
#include "noise.bpf.h"

NOISE_SOURCE(tasklet, "softirq", FUNCTION);

/* The mask states what was tested before: see noise_is_watched(). */
static __always_inline struct noise_raiser *softirq_raiser_of(struct noise_cpu *c, u32 vector)
{
	asm volatile("" : "+r"(vector));
	return &c->raisers[vector & (NOISE_SOFTIRQS - 1)];
}

/* Who raised it first. A softirq that is raised while it runs, runs once more. */
SEC("tp_btf/softirq_raise")
int softirq_raise(u64 *ctx)
{
	u32 vector = ctx[0];
	struct noise_cpu *c = noise_this_cpu();
	if (!c || !noise_wanted(c) || vector >= NOISE_SOFTIRQS)
		return 0;
	struct noise_raiser *raiser = softirq_raiser_of(c, vector);
	if (raiser->context)
		return 0;
	u32 level = NOISE_LEVEL_THREAD;
	struct noise_raiser who = {.tid = noise_root(c), .context = NOISE_CONTEXT_TASK + 1};
	if (c->open_levels & LEVEL_BIT(IRQ)) {
		level = NOISE_LEVEL_IRQ;
		who.context = NOISE_CONTEXT_IRQ + 1;
	} else if (c->open_levels & LEVEL_BIT(SOFTIRQ)) {
		level = NOISE_LEVEL_SOFTIRQ;
		who.context = NOISE_CONTEXT_SOFTIRQ + 1;
	}
	who.source = c->frames[level].source;
	who.id = c->frames[level].id;
	*raiser = who;
	return 0;
}

SEC("tp_btf/softirq_entry")
int softirq_entry(u64 *ctx)
{
	u32 vector = ctx[0];
	struct noise_cpu *c = noise_this_cpu();
	if (!c || !noise_wanted(c) || vector >= NOISE_SOFTIRQS)
		return 0;
	u64 *raiser = (u64 *)softirq_raiser_of(c, vector);
	noise_open(c, NOISE_LEVEL_SOFTIRQ, softirq_source, vector, *raiser);
	*raiser = 0;
	return 0;
}

SEC("tp_btf/softirq_exit")
int softirq_exit(u64 *ctx)
{
	return noise_end(ctx, NOISE_LEVEL_SOFTIRQ, softirq_source);
}

SEC("tp_btf/tasklet_entry")
int tasklet_entry(u64 *ctx)
{
	return noise_begin_callback(tasklet_source, ctx[1], ctx[0]);
}

SEC("tp_btf/tasklet_exit")
int tasklet_exit(u64 *ctx)
{
	return noise_end_callback(tasklet_source);
}
