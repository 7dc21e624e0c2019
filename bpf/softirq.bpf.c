// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Softirqs by vector, and the tasklets that two of them run. */
#include "softirq.bpf.h"
#include "noise.bpf.h"

NOISE_SOURCE(tasklet, "softirq", FUNCTION);

/*
 * The place of a struct noise_raiser, 0 where nobody is. A word, as what is written is read soon
 * after. The mask states once more what was tested before, as the compiler may have tested another
 * register than it uses.
 */
static __always_inline noise_word *softirq_raiser_of(struct noise_cpu *c, u32 vector)
{
	asm volatile("" : "+r"(vector));
	return (noise_word *)&c->raisers[vector & (NOISE_SOFTIRQS - 1)];
}

/* By what goes on here: the task, what interrupted it, or who raised the softirq that is served. */
static __always_inline struct noise_raiser softirq_raiser_now(struct noise_cpu *c)
{
	struct noise_raiser who = {.tid = c->tid, .context = NOISE_CONTEXT_TASK + 1};
	struct noise_frame *frame = &c->frames[NOISE_LEVEL_THREAD];
	if (c->open_levels & LEVEL_BIT(IRQ)) {
		frame = &c->frames[NOISE_LEVEL_IRQ];
		who.tid = NOISE_RAISER_ROOT_SOURCE + frame->source;
		who.context = NOISE_CONTEXT_IRQ + 1;
	} else if (c->open_levels & LEVEL_BIT(SOFTIRQ)) {
		frame = &c->frames[NOISE_LEVEL_SOFTIRQ];
		who.tid = frame->object;
		who.context = NOISE_CONTEXT_SOFTIRQ + 1;
	}
	who.source = frame->source;
	who.id = frame->id;
	return who;
}

/* Who raised it first. A softirq that is raised while it runs, runs once more. */
SEC("tp_btf/softirq_raise")
int softirq_raise(u64 *ctx)
{
	u32 vector = ctx[0];
	struct noise_cpu *c = noise_wanting_cpu();
	if (!c || vector >= NOISE_SOFTIRQS)
		return 0;
	noise_word *raiser = softirq_raiser_of(c, vector);
	if (*raiser)
		return 0;
	struct noise_raiser now = softirq_raiser_now(c);
	*raiser = NOISE_WORD(&now, tid);
	return 0;
}

SEC("tp_btf/softirq_entry")
int softirq_entry(u64 *ctx)
{
	u32 vector = ctx[0];
	struct noise_cpu *c = noise_wanting_cpu();
	if (!c || vector >= NOISE_SOFTIRQS)
		return 0;
	/* Cleared at once: an interrupt that raises it from now on has it run once more. */
	noise_word *raiser = softirq_raiser_of(c, vector), raised = *raiser;
	*raiser = 0;
	noise_open(c, NOISE_LEVEL_SOFTIRQ, softirq_source, vector, raised);
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
