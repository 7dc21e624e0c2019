/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Who raised a softirq. Where BTF says where the mask of pending ones lies, it is looked at when an
 * interrupt, a softirq or a thread's turn begins and ends: what came up in between was raised by it.
 * Elsewhere a program at softirq_raise tells, which every CPU runs for each of them.
 */
#ifndef NOISETOP_RAISER_BPF_H
#define NOISETOP_RAISER_BPF_H

#include "state.bpf.h"

/*
 * The place of a struct noise_raiser, 0 where nobody is. A word, as what is written is read soon
 * after. The mask states once more what was tested before, as the compiler may have tested another
 * register than it uses.
 */
static __always_inline noise_word *raiser_of(struct noise_cpu *c, u32 vector)
{
	asm volatile("" : "+r"(vector));
	return (noise_word *)&c->raisers[vector & (NOISE_SOFTIRQS - 1)];
}

/* By what goes on here: the task, what interrupted it, or who raised the softirq that is served. */
static __always_inline struct noise_raiser raiser_now(struct noise_cpu *c)
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

/* Softirqs that are pending here; where it is known. */
static __always_inline u32 raiser_pending(struct noise_cpu *c)
{
	return kernel_number(c->pending_place) & ((1u << NOISE_SOFTIRQS) - 1);
}

/* The same for a frame that begins, in the place that it has there; 0 where it is not known. */
static __always_inline u64 raiser_tag(struct noise_cpu *c)
{
	return noise_own_pending_known() ? (u64)raiser_pending(c) << 32 : 0;
}

/*
 * Notes who raised some softirqs: what goes on here, and whoever was first. Nobody knows it of what
 * came up while nothing was traced, as no victim was delayed.
 */
NOISE_FUNCTION int raiser_note(u32 vectors)
{
	struct noise_cpu *c = noise_find_this_cpu();
	if (!c)
		return 0;
	struct noise_raiser now = raiser_now(c);
	u64 who = NOISE_WORD(&now, tid);
	if (noise_victims != NOISE_VICTIMS_USERS && !c->victim_tid)
		who = RAISER_IN(UNKNOWN);
#pragma unroll /* Linux 5.10 refuses a loop whose head follows a call */
	for (u32 i = 0; i < NOISE_SOFTIRQS; i++)
		if (vectors & 1u << i && !c->raisers[i].context)
			NOISE_WORD(&c->raisers[i], tid) = who;
	return 0;
}

/* What is pending now and was not then came up in between. */
static __always_inline void raiser_note_since(struct noise_cpu *c, u32 pending)
{
	if (!noise_own_pending_known())
		return;
	u32 raised = raiser_pending(c) & ~pending;
	if (raised)
		raiser_note(raised);
}

/*
 * Who raised a softirq that begins, 0: nobody knows. Cleared at once: what raises it from now on has
 * it run once more. What came up since anything else ended was raised by the task.
 */
static __always_inline u64 raiser_take(struct noise_cpu *c, u32 vector)
{
	noise_word *place = raiser_of(c, vector), raised = *place;
	*place = 0;
	if (!noise_own_pending_known())
		return raised;
	if (!raised)
		return c->tid | RAISER_IN(TASK);
	return raised == RAISER_IN(UNKNOWN) ? 0 : raised;
}

#endif
