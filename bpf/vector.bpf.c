// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Interrupts that the local APIC raises itself (x86): arch/x86/include/asm/trace/irq_vectors.h.
 * They never come through irq_handler_entry.
 */
#include "interrupt.bpf.h"
#include "noise.bpf.h"

#if defined(__TARGET_ARCH_x86)

/* The callbacks of the timer interrupt are hrtimers, whose ends are reported. */
#define NOISE_VECTOR(vector, class)                                                                \
	NOISE_SOURCE(vector, class, NONE);                                                         \
	SEC("tp_btf/" #vector "_entry")                                                            \
	int vector##_entry(u64 *ctx)                                                               \
	{                                                                                          \
		return noise_begin_interrupt(vector##_source);                                     \
	}                                                                                          \
	SEC("tp_btf/" #vector "_exit")                                                             \
	int vector##_exit(u64 *ctx)                                                                \
	{                                                                                          \
		return noise_end_interrupt(ctx, vector##_source,                                   \
					   vector##_source == local_timer_source);                 \
	}

NOISE_VECTOR(local_timer, "timer")
NOISE_VECTOR(reschedule, "ipi")
NOISE_VECTOR(call_function, "ipi")
NOISE_VECTOR(call_function_single, "ipi")
NOISE_VECTOR(irq_work, "ipi")
NOISE_VECTOR(x86_platform_ipi, "ipi")
NOISE_VECTOR(thermal_apic, "irq")
NOISE_VECTOR(threshold_apic, "irq")
NOISE_VECTOR(deferred_error_apic, "irq")
NOISE_VECTOR(error_apic, "irq")
NOISE_VECTOR(spurious_apic, "irq")

#endif
