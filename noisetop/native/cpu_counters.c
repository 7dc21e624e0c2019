// SPDX-License-Identifier: Apache-2.0
#include "cpu_counters.h"

#include "clock.h"

#define AT_ONCE_NS 20000
#define AT_ONCE_TRIES 1000

void cpu_counters__read(const struct rings *rings, struct noise_cpu_counters *counters)
{
	for (size_t i = 0; i < rings->cpu_count; i++) {
		const struct noise_cpu *state = rings__state(rings, i);
		counters[i].cpu = rings->cpus[i];
		for (int reason = 0; reason < NOISE_LOSSES; reason++)
			counters[i].losses[reason] =
				__atomic_load_n(&state->losses[reason], __ATOMIC_RELAXED);
		for (int reason = 0; reason < NOISE_TICKS; reason++)
			counters[i].ticks[reason] =
				__atomic_load_n(&state->ticks[reason], __ATOMIC_RELAXED);
	}
}

uint64_t cpu_counters__read_at_once(const struct rings *rings, struct noise_cpu_counters *counters)
{
	uint64_t now_ns = 0;
	for (int i = 0; i < AT_ONCE_TRIES; i++) {
		now_ns = monotonic_ns();
		cpu_counters__read(rings, counters);
		if (monotonic_ns() - now_ns < AT_ONCE_NS)
			break;
	}
	return now_ns;
}

void cpu_counters__subtract(struct noise_cpu_counters *counters,
			    const struct noise_cpu_counters *before, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		for (int reason = 0; reason < NOISE_LOSSES; reason++)
			counters[i].losses[reason] -= before[i].losses[reason];
		for (int reason = 0; reason < NOISE_TICKS; reason++)
			counters[i].ticks[reason] -= before[i].ticks[reason];
	}
}
