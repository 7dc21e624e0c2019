/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Interrupts without a number, and the callbacks that they run: see struct noise_pair. */
#ifndef NOISETOP_INTERRUPT_BPF_H
#define NOISETOP_INTERRUPT_BPF_H

#include "noise.bpf.h"

static __always_inline void noise_open_interrupt(struct noise_cpu *c, u32 source, u64 id)
{
	noise_open_tagged(c, NOISE_LEVEL_IRQ, source | raiser_tag(c), id, 0);
}

static __always_inline int noise_begin_interrupt(u32 source)
{
	struct noise_cpu *c = noise_wanting_cpu();
	if (c)
		noise_open_interrupt(c, source, 0);
	return 0;
}

/*
 * Records the callback of an interrupt on its own, one that is held or one that ends now; the closed
 * time afterwards. One whose end is not reported lasts until the next one begins or until the
 * interrupt ends. Out of line, as nearly all interrupts run one callback and end with it.
 */
NOISE_FUNCTION u64 noise_close_callback(u64 now_ns, u64 closed_ns)
{
	struct noise_cpu *c = noise_find_this_cpu();
	u32 writer;
	if (c && c->open_levels & LEVEL_BIT(IRQ_CALLBACK)) {
		struct noise_event *event = noise_close_at(
			c, NOISE_LEVEL_IRQ_CALLBACK, c->frames[NOISE_LEVEL_IRQ_CALLBACK].source, 0,
			now_ns, &closed_ns, &writer);
		noise_commit(c, event, writer);
	}
	noise_record_held();
	return closed_ns;
}

/* Whether what happens in an interrupt up to now can be told by one record. */
static __always_inline bool noise_pairs(struct noise_cpu *c, u64 now_ns)
{
	return !noise_own_takes_stacks() &&
	       now_ns - c->frames[NOISE_LEVEL_IRQ].start_ns < 1ull << 32;
}

/*
 * The callback of an interrupt ends. It is held until the interrupt ends or runs another one. That of
 * a device, which has an id, rarely runs any: there the callback is recorded at once.
 */
static __always_inline void noise_hold_callback(struct noise_cpu *c, u32 source)
{
	struct noise_frame *frame = &c->frames[NOISE_LEVEL_IRQ_CALLBACK];
	u64 closed_ns, now_ns = noise_now(c, NOISE_LEVEL_IRQ, &closed_ns);
	if (!noise_pairs(c, now_ns) || c->frames[NOISE_LEVEL_IRQ].id) {
		frame->source = source;
		noise_close_callback(now_ns, closed_ns);
		return;
	}
	u64 net_ns = noise_end_frame(c, NOISE_LEVEL_IRQ_CALLBACK, now_ns, &closed_ns, true);
	frame->closed_ns = now_ns;
	NOISE_WORD(frame, source) = source | net_ns << 32;
	c->open_levels |= NOISE_HELD;
}

/*
 * Fills in what is known of both where the callback of an interrupt without an id is told with it:
 * as noise_fill() does, for what it comes to there.
 */
static __always_inline void noise_fill_pair(struct noise_cpu *c, struct noise_pair *pair, u8 source)
{
	struct noise_frame *inner = &c->frames[NOISE_LEVEL_IRQ_CALLBACK];
	u32 below = c->open_levels & (LEVEL_BIT(IRQ) - 1);
	struct noise_pair last;
	last.cpu = c->cpu;
	last.parent_id = 0;
	last.source = inner->source;
	last.parent_source = source;
	last.level = NOISE_LEVEL_IRQ_CALLBACK | NOISE_MARK_PAIR;
	last.flags = below ? 0 : NOISE_FLAG_OUTERMOST;
	if (noise_marks_entry(c, NOISE_LEVEL_IRQ_CALLBACK, below))
		last.level |= NOISE_MARK_ENTRY;
	pair->id = inner->id;
	pair->object = inner->object;
	NOISE_WORD(pair, tid) = *(noise_word *)&c->tid;
	NOISE_WORD(pair, cpu) = NOISE_WORD(&last, cpu);
}

/* Closes an interrupt with the callback in it, which is held or ends now: see struct noise_pair. */
static __always_inline void noise_close_pair(struct noise_cpu *c, u8 source, u64 now_ns,
					     u64 closed_ns)
{
	struct noise_frame *inner = &c->frames[NOISE_LEVEL_IRQ_CALLBACK];
	struct noise_frame *outer = &c->frames[NOISE_LEVEL_IRQ];
	u64 ended_ns = inner->closed_ns, net_ns = inner->net_ns;
	if (c->open_levels & LEVEL_BIT(IRQ_CALLBACK)) {
		net_ns = noise_end_frame(c, NOISE_LEVEL_IRQ_CALLBACK, now_ns, &closed_ns, true);
		ended_ns = now_ns;
	}
	u64 outer_net_ns = noise_end_frame(c, NOISE_LEVEL_IRQ, now_ns, &closed_ns, true);
	u32 writer;
	struct noise_pair *pair = (void *)noise_claim(c, &writer, 2);
	if (pair) {
		pair->start_ns = inner->start_ns;
		pair->gross_ns = ended_ns - inner->start_ns;
		pair->net_ns = net_ns;
		pair->before_ns = inner->start_ns - outer->start_ns;
		pair->after_ns = now_ns - ended_ns;
		pair->outer_net_ns = outer_net_ns;
		noise_fill_pair(c, pair, source);
	}
	noise_commit(c, (void *)pair, writer);
}

/* `ends_reported`: by every callback of this interrupt; the end of one that is open was missed. */
static __always_inline void noise_close_interrupt(void *ctx, struct noise_cpu *c, u32 source,
						  bool ends_reported)
{
	u64 closed_ns, now_ns = noise_now(c, NOISE_LEVEL_IRQ, &closed_ns);
	if (ends_reported && c->open_levels & LEVEL_BIT(IRQ_CALLBACK))
		noise_lose(c, NOISE_LOSS_UNBALANCED);
	raiser_note_since(c, c->frames[NOISE_LEVEL_IRQ].pending);
	if (c->open_levels & (LEVEL_BIT(IRQ_CALLBACK) | NOISE_HELD)) {
		if (noise_pairs(c, now_ns)) {
			noise_close_pair(c, source, now_ns, closed_ns);
			return;
		}
		closed_ns = noise_close_callback(now_ns, closed_ns);
	}
	u32 writer;
	struct noise_event *event =
		noise_close_at(c, NOISE_LEVEL_IRQ, source, 0, now_ns, &closed_ns, &writer);
	noise_commit_interrupt(ctx, c, event, writer);
}

static __always_inline int noise_end_interrupt(void *ctx, u32 source, bool ends_reported)
{
	struct noise_cpu *c = noise_ending_cpu();
	if (!c)
		return 0;
	if (noise_has_open(c, NOISE_LEVEL_IRQ, source)) {
		noise_close_interrupt(ctx, c, source, ends_reported);
		return 0;
	}
	noise_lose(c, NOISE_LOSS_UNBALANCED);
	return 0;
}

#endif
