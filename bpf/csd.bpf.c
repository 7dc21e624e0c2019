// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Functions that function-call interrupts run, since 6.5; one interrupt can run several. */
#include "interrupt.bpf.h"
#include "noise.bpf.h"

NOISE_SOURCE(csd, "ipi", FUNCTION);

/*
 * Only the beginning is hooked: each program costs the interrupted task, and what lies between the
 * end of one function and the beginning of the next, or the end of the interrupt, is a few
 * instructions. Without a csd the caller runs the function on its own CPU, and without an interrupt
 * the idle loop does: neither interrupts anybody.
 *
 * Raw: a typed tracepoint must not read a function pointer from its arguments.
 */
SEC("raw_tp/csd_function_entry")
int csd_entry(u64 *ctx)
{
	struct noise_cpu *c = noise_wanting_cpu();
	if (!ctx[1] || !c || !(c->open_levels & LEVEL_BIT(IRQ)))
		return 0;
	struct noise_frame *frame = &c->frames[NOISE_LEVEL_IRQ_CALLBACK];
	u64 closed_ns, now_ns = noise_now(c, NOISE_LEVEL_IRQ, &closed_ns);
	if (c->open_levels & (LEVEL_BIT(IRQ_CALLBACK) | NOISE_HELD))
		closed_ns = noise_close_callback(now_ns, closed_ns);
	frame->source = csd_source;
	frame->id = ctx[0];
	frame->object = ctx[1];
	frame->start_ns = now_ns;
	frame->closed_ns = closed_ns;
	c->open_levels |= LEVEL_BIT(IRQ_CALLBACK);
	return 0;
}
