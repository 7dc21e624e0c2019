// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Device interrupts, by number and action. A shared line runs its actions one after the other. */
#include "interrupt.bpf.h"
#include "noise.bpf.h"

#define IRQ_NONE 0 /* include/linux/irqreturn.h */

NOISE_SOURCE(irq, "irq", IRQ);

/* On arm64 an interrupt between CPUs is reported as one of these around its own report. */
static __always_inline bool irq_is_ipi(u64 *ctx)
{
#if defined(__TARGET_ARCH_arm64)
	struct irqaction *action = (void *)ctx[1];
	char name[4] = {};
	bpf_probe_read_kernel(name, sizeof(name), FIELD(action, name));
	return name[0] == 'I' && name[1] == 'P' && name[2] == 'I' && !name[3];
#else
	return false;
#endif
}

SEC("tp_btf/irq_handler_entry")
int irq_entry(u64 *ctx)
{
	u32 number = ctx[0];
	struct noise_cpu *c = noise_wanting_cpu();
	if (!c || irq_is_ipi(ctx))
		return 0;
	if (c->open_levels & LEVEL_BIT(IRQ))
		noise_open(c, NOISE_LEVEL_IRQ_NESTED, irq_source, number, 0);
	else
		noise_open_interrupt(c, irq_source, number);
	return 0;
}

static __always_inline void irq_close(struct noise_cpu *c, u32 level, u64 *ctx)
{
	struct irqaction *action = (void *)ctx[1];
	u32 writer;
	u32 flags = (int)ctx[2] == IRQ_NONE ? NOISE_FLAG_UNHANDLED : 0;
	struct noise_event *event = noise_close(c, level, irq_source, flags, &writer);
	if (event && noise_casts_known)
		kernel_text_at((u64)FIELD(action, name), (u64 *)event->comm);
	else if (event)
		bpf_probe_read_kernel_str(event->comm, sizeof(event->comm), FIELD(action, name));
	noise_commit_interrupt(ctx, c, event, writer);
}

SEC("tp_btf/irq_handler_exit")
int irq_exit(u64 *ctx)
{
	struct noise_cpu *c = noise_wanting_cpu();
	if (!c || irq_is_ipi(ctx))
		return 0;
	if (c->open_levels & LEVEL_BIT(IRQ_NESTED)) {
		irq_close(c, NOISE_LEVEL_IRQ_NESTED, ctx);
	} else if (noise_is_open(c, NOISE_LEVEL_IRQ, irq_source)) {
		raiser_note_since(c, c->frames[NOISE_LEVEL_IRQ].pending);
		if (c->open_levels & NOISE_HELD)
			noise_record_held();
		irq_close(c, NOISE_LEVEL_IRQ, ctx);
	}
	return 0;
}
