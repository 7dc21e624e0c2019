// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Moments at which software changed how fast CPUs run, or how much they may: instants, no intervals
 * and so no noise. Each is told by whichever CPU made the change. What hardware decides by itself
 * (HWP, CPPC, thermal throttling in the CPU) has no tracepoint. pstate_sample and thermal_temperature
 * tell of no change: drivers report them periodically.
 */
#include "noise.bpf.h"

NOISE_SOURCE(frequency, HARDWARE, MHZ);
NOISE_SOURCE(frequency_limits, HARDWARE, NONE);
NOISE_SOURCE(thermal_trip, HARDWARE, NONE);
NOISE_SOURCE(cooling, HARDWARE, NONE);

static __always_inline int power_record(u32 source, u32 cpu, u64 id)
{
	struct noise_cpu *c = noise_cpu_of(bpf_get_smp_processor_id());
	if (!c)
		return 0;
	struct noise_event event = {
		.start_ns = bpf_ktime_get_ns(),
		.id = id,
		.tid = BPF_CORE_READ((struct task_struct *)bpf_get_current_task(), pid),
		.cpu = cpu,
		.source = source,
		.parent_source = source,
		.level = NOISE_LEVEL_APART,
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

/* The others concern no single CPU: a policy, a zone or a cooling device has many. */
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
