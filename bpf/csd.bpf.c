// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Functions that function-call interrupts run, since 6.5; one interrupt can run several. */
#include "noise.bpf.h"

NOISE_SOURCE(csd, IPI, FUNCTION);

/*
 * Raw tracepoints: a typed one must not read a function pointer from its arguments.
 * Without a csd the caller runs the function on its own CPU: its own doing, no interruption.
 */
SEC("raw_tp/csd_function_entry")
int csd_entry(u64 *ctx)
{
	if (!ctx[1])
		return 0;
	return noise_begin_callback(csd_source, ctx[0], ctx[1]);
}

SEC("raw_tp/csd_function_exit")
int csd_exit(u64 *ctx)
{
	if (!ctx[1])
		return 0;
	return noise_end_callback(csd_source);
}
