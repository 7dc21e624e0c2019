// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Softirqs by vector, and the tasklets that two of them run. */
#include "softirq.bpf.h"
#include "noise.bpf.h"

NOISE_SOURCE(tasklet, "softirq", FUNCTION);

/*
 * Who raised it first, where the mask of pending ones does not tell. A softirq that is raised while it
 * runs, runs once more.
 */
SEC("tp_btf/softirq_raise")
int softirq_raise(u64 *ctx)
{
	u32 vector = ctx[0];
	struct noise_cpu *c = noise_wanting_cpu();
	if (!c || vector >= NOISE_SOFTIRQS)
		return 0;
	noise_word *raiser = raiser_of(c, vector);
	if (*raiser)
		return 0;
	struct noise_raiser now = raiser_now(c);
	*raiser = NOISE_WORD(&now, tid);
	return 0;
}

SEC("tp_btf/softirq_entry")
int softirq_entry(u64 *ctx)
{
	u32 vector = ctx[0];
	struct noise_cpu *c = noise_synced_cpu();
	if (!c || vector >= NOISE_SOFTIRQS)
		return 0;
	u64 raised = raiser_take(c, vector); /* whoever it delays: the next time is another one */
	if (noise_wants(c))
		noise_open_tagged(c, NOISE_LEVEL_SOFTIRQ, softirq_source | raiser_tag(c), vector,
				  raised);
	return 0;
}

SEC("tp_btf/softirq_exit")
int softirq_exit(u64 *ctx)
{
	return noise_end_softirq(ctx, softirq_source);
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
