/* SPDX-License-Identifier: Apache-2.0 */
/* Histograms of durations: 16 linear steps per octave, so a bucket's upper edge lies at most 6.25 %
 * above any duration in it. noisetop/tables/histogram.py knows the edges. */
#ifndef NOISETOP_TABLES_HISTOGRAM_H
#define NOISETOP_TABLES_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_STEP_BITS 4
#define HISTOGRAM_STEPS (1 << HISTOGRAM_STEP_BITS)
#define HISTOGRAM_OCTAVES 40 /* up to 2^44 ns, 4.9 hours; the last bucket holds what is longer */
#define HISTOGRAM_BUCKETS (HISTOGRAM_STEPS * (HISTOGRAM_OCTAVES + 1))

static inline uint32_t bucket_of(uint64_t duration_ns)
{
	if (duration_ns < 2 * HISTOGRAM_STEPS)
		return duration_ns;
	int shift = 63 - __builtin_clzll(duration_ns) - HISTOGRAM_STEP_BITS;
	uint32_t bucket = shift * HISTOGRAM_STEPS + (duration_ns >> shift);
	return bucket < HISTOGRAM_BUCKETS ? bucket : HISTOGRAM_BUCKETS - 1;
}

#endif
