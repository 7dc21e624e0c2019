// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Non-maskable interrupts by handler (x86), reported after each handler with its own duration. */
#include "noise.bpf.h"

NOISE_SOURCE(nmi, "nmi", FUNCTION);

SEC("tp_btf/nmi_handler")
int nmi_handler(u64 *ctx)
{
	struct noise_cpu *c = noise_wanting_cpu();
	if (!c)
		return 0;
	struct noise_frame *frame = &c->frames[NOISE_LEVEL_NMI];
	frame->source = nmi_source;
	frame->id = ctx[0];
	frame->object = 0;
	frame->start_ns = noise_now(c, NOISE_LEVEL_NMI, &frame->closed_ns) - (s64)ctx[1];
	noise_close_and_commit(c, NOISE_LEVEL_NMI, nmi_source,
			       (int)ctx[2] ? 0 : NOISE_FLAG_UNHANDLED);
	return 0;
}
