// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Interrupts between CPUs on arm64, told apart by the reason that the kernel gives
 * (arch/arm64/kernel/smp.c: ipi_types). They come inside an irq_handler_entry named "IPI", which
 * irq.bpf.c leaves to these; the timer and the PMU are device interrupts there.
 */
#include "interrupt.bpf.h"
#include "noise.bpf.h"

#if defined(__TARGET_ARCH_arm64)

NOISE_SOURCE(reschedule, "ipi", NONE);
NOISE_SOURCE(call_function, "ipi", NONE);
NOISE_SOURCE(irq_work, "ipi", NONE);
NOISE_SOURCE(timer_broadcast, "timer", NONE);
NOISE_SOURCE(cpu_stop, "ipi", NONE);
NOISE_SOURCE(cpu_backtrace, "ipi", NONE);
NOISE_SOURCE(ipi, "ipi", NONE);

static __always_inline u32 vector_source(const char *reason)
{
	char text[6] = {};
	bpf_probe_read_kernel(text, sizeof(text), reason);
	switch (text[0]) {
	case 'R': /* Rescheduling interrupts */
		return reschedule_source;
	case 'F': /* Function call interrupts */
		return call_function_source;
	case 'I': /* IRQ work interrupts */
		return irq_work_source;
	case 'T': /* Timer broadcast interrupts */
		return timer_broadcast_source;
	case 'C': /* CPU stop …, CPU backtrace …, CPU wake-up interrupts */
		if (text[4] == 's')
			return cpu_stop_source;
		if (text[4] == 'b')
			return cpu_backtrace_source;
	}
	return ipi_source;
}

/* A CPU that is not watched leaves before the reason is read. */
SEC("tp_btf/ipi_entry")
int vector_entry(u64 *ctx)
{
	if (!noise_this_cpu())
		return 0;
	return noise_begin_interrupt(vector_source((void *)ctx[0]));
}

SEC("tp_btf/ipi_exit")
int vector_exit(u64 *ctx)
{
	if (!noise_this_cpu())
		return 0;
	return noise_end_interrupt(ctx, vector_source((void *)ctx[0]), false);
}

#endif
