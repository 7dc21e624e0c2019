// SPDX-License-Identifier: Apache-2.0
#include "rings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "map_memory.h"

/* Ring of a CPU from which only triggers come: 256 KiB, 80,000 triggers/s. */
#define TRIGGER_RECORDS 4096

_Static_assert(sizeof(struct noise_event) == 64, "one event is one cache line");
_Static_assert(TRIGGER_RECORDS % NOISE_GROUP_RECORDS == 0 &&
		       NOISE_NESTED_RECORDS % NOISE_GROUP_RECORDS == 0 &&
		       NOISE_WHEEL_ARMS % NOISE_GROUP_RECORDS == 0,
	       "a group lies in one ring");
_Static_assert(sizeof(struct noise_cpu) % 64 == 0, "states of two CPUs share no cache line");
_Static_assert(offsetof(struct noise_cpu, tails) % 64 == 0,
	       "what user space writes is on a line of its own");
_Static_assert(sizeof(struct noise_pair) == sizeof(struct noise_event) &&
		       offsetof(struct noise_pair, id) == offsetof(struct noise_event, id) &&
		       offsetof(struct noise_pair, object) ==
			       offsetof(struct noise_event, object) &&
		       offsetof(struct noise_pair, tid) == offsetof(struct noise_event, tid) &&
		       offsetof(struct noise_pair, cpu) == offsetof(struct noise_event, cpu) &&
		       offsetof(struct noise_pair, level) == offsetof(struct noise_event, level),
	       "a pair is the event of its callback");
_Static_assert(offsetof(struct noise_event, tid) % 8 == 0 &&
		       offsetof(struct noise_event, cpu) % 8 == 0 &&
		       offsetof(struct noise_cpu, tid) % 8 == 0 &&
		       offsetof(struct noise_cpu, victim_tid) ==
			       offsetof(struct noise_cpu, tid) + sizeof(noise_u32),
	       "what the programs copy as a word is one");

int rings__init(struct rings *rings, const uint32_t *cpus, size_t watched_count, size_t cpu_count,
		uint32_t watched_records)
{
	rings->cpus = calloc(cpu_count, sizeof(*rings->cpus));
	if (!rings->cpus)
		return -ENOMEM;
	memcpy(rings->cpus, cpus, cpu_count * sizeof(*cpus));
	rings->watched_count = watched_count;
	rings->cpu_count = cpu_count;
	rings->watched_records = watched_records;
	return 0;
}

/* Of the first ring of the CPU at this place. */
static uint32_t first_ring_records(const struct rings *rings, size_t place)
{
	return place < rings->watched_count ? rings->watched_records : TRIGGER_RECORDS;
}

/* Of all rings of that CPU, with what lies behind them. */
static uint32_t records_of(const struct rings *rings, size_t place)
{
	uint32_t records =
		first_ring_records(rings, place) + (NOISE_RINGS - 1) * NOISE_NESTED_RECORDS;
	return place < rings->watched_count ? records + NOISE_WHEEL_ARMS : records;
}

uint32_t rings__capacity(const struct rings *rings)
{
	uint32_t records = 0;
	for (size_t i = 0; i < rings->cpu_count; i++)
		records += records_of(rings, i);
	return records;
}

uint32_t rings__states(const struct rings *rings)
{
	uint32_t last = 0;
	for (size_t i = 0; i < rings->cpu_count; i++)
		if (rings->cpus[i] > last)
			last = rings->cpus[i];
	return last + 1;
}

int rings__map(struct rings *rings, const struct bpf_map *states, const struct bpf_map *records)
{
	int err = map_memory__map(states, PROT_READ | PROT_WRITE, (void **)&rings->states,
				  &rings->states_bytes);
	if (!err)
		err = map_memory__map(records, PROT_READ | PROT_WRITE, (void **)&rings->records,
				      &rings->records_bytes);
	if (err)
		return err;
	uint32_t first = 0;
	for (size_t i = 0; i < rings->cpu_count; i++) {
		struct noise_cpu *state = rings__state(rings, i);
		state->cpu = rings->cpus[i];
		state->first_record = first;
		state->ring_mask = first_ring_records(rings, i) - 1;
		state->watch = i < rings->watched_count ? NOISE_WATCH_BEGUN : NOISE_WATCH_NONE;
		first += records_of(rings, i);
	}
	return 0;
}

uint64_t rings__written(const struct rings *rings)
{
	uint64_t records = 0;
	for (size_t i = 0; i < rings->cpu_count; i++)
		for (int ring = 0; ring < NOISE_RINGS; ring++)
			records += __atomic_load_n(&rings__state(rings, i)->rings[ring].head,
						   __ATOMIC_RELAXED);
	return records;
}

void rings__destroy(struct rings *rings)
{
	if (rings->states)
		munmap(rings->states, rings->states_bytes);
	if (rings->records)
		munmap(rings->records, rings->records_bytes);
	free(rings->cpus);
	*rings = (struct rings){0};
}
