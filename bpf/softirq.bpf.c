// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Softirqs by vector, and the tasklets that two of them run. */
#include "noise.bpf.h"

NOISE_SOURCE(softirq, SOFTIRQ, SOFTIRQ);
NOISE_SOURCE(tasklet, SOFTIRQ, FUNCTION);

SEC("tp_btf/softirq_entry")
int softirq_entry(u64 *ctx)
{
	return noise_begin(NOISE_LEVEL_SOFTIRQ, softirq_source, (u32)ctx[0]);
}

SEC("tp_btf/softirq_exit")
int softirq_exit(u64 *ctx)
{
	return noise_end(NOISE_LEVEL_SOFTIRQ, softirq_source);
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
