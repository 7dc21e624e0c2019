// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Changes of CPU frequency, or of its limits, by software: instants, not intervals, so not noise.
 * Recorded on the CPU that made the change. What hardware decides by itself (HWP, CPPC, thermal
 * throttling in the CPU) has no tracepoint. pstate_sample and thermal_temperature are not used:
 * drivers report them periodically, not on a change.
 */
#include "noise.bpf.h"

NOISE_SOURCE(frequency, "hardware", MHZ);
NOISE_SOURCE(frequency_limits, "hardware", NONE);
NOISE_SOURCE(thermal_trip, "hardware", NONE);
NOISE_SOURCE(cooling, "hardware", NONE);

static __always_inline int power_record(u32 source, u32 cpu, u64 id)
{
	struct noise_cpu *c = noise_acting_cpu();
	if (!c)
		return 0;
	struct noise_event event = {
		.start_ns = bpf_ktime_get_ns(),
		.id = id,
		.tid = BPF_CORE_READ((struct task_struct *)bpf_get_current_task(), pid),
		.cpu = cpu,
		.source = source,
		.parent_source = source,
		.level = NOISE_LEVEL_SIDE,
	};
	noise_record(c, &event);
	return 0;
}

/* Of a watched CPU, whoever asked for it. */
SEC("raw_tp/cpu_frequency")
int power_frequency(u64 *ctx)
{
	u32 khz = ctx[0], cpu = ctx[1];
	return noise_is_watched(cpu) ? power_record(frequency_source, cpu, khz / 1000) : 0;
}

/* The others are not about one CPU: a policy, a zone or a cooling device covers several. */
SEC("raw_tp/cpu_frequency_limits")
int power_limits(u64 *ctx)
{
	return power_record(frequency_limits_source, bpf_get_smp_processor_id(), 0);
}

SEC("raw_tp/thermal_zone_trip")
int power_trip(u64 *ctx)
{
	return power_record(thermal_trip_source, bpf_get_smp_processor_id(), 0);
}

SEC("raw_tp/cdev_update")
int power_cooling(u64 *ctx)
{
	return power_record(cooling_source, bpf_get_smp_processor_id(), 0);
}
