/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Where this CPU puts its records, and what it counts where there is no place for one. */
#ifndef NOISETOP_RING_BPF_H
#define NOISETOP_RING_BPF_H

#include "state.bpf.h"

static __always_inline void noise_lose_many(struct noise_cpu *c, enum noise_loss reason, u32 count)
{
	__sync_fetch_and_add(&c->losses[reason], count);
}

static __always_inline void noise_lose(struct noise_cpu *c, enum noise_loss reason)
{
	noise_lose_many(c, reason, 1);
}

/* No place for a record. Beyond the end of the array, so that a look-up finds nothing. */
#define NOISE_NO_PLACE 0xffffffffu

/*
 * The place of the next record of a writer that interrupted another one, or that finds the first
 * ring full as far as it knew; else so many are lost. Out of line, as that is rare.
 */
NOISE_FUNCTION u32 noise_place(u32 nest, u32 intervals)
{
	struct noise_cpu *c = noise_find_this_cpu();
	if (!c)
		return NOISE_NO_PLACE;
	if (nest >= NOISE_RINGS) {
		noise_lose_many(c, NOISE_LOSS_NESTING, intervals);
		return NOISE_NO_PLACE;
	}
	struct noise_ring *ring = &c->rings[nest];
	u32 records = nest ? NOISE_NESTED_RECORDS : c->ring_mask + 1;
	u64 head = ring->head;
	if (head >= ring->full_at) {
		ring->full_at = READ_ONCE(c->tails[nest]) + records;
		if (head >= ring->full_at) {
			noise_lose_many(c, NOISE_LOSS_RING_FULL, intervals);
			return NOISE_NO_PLACE;
		}
	}
	u32 index = c->first_record + (head & (records - 1));
	if (nest)
		index += c->ring_mask + 1 + (nest - 1) * NOISE_NESTED_RECORDS;
	return index;
}

/* The group of a record by its place in the array of all, or NULL. */
static __always_inline struct noise_group *noise_group_of(u32 index)
{
	u32 group = index / NOISE_GROUP_RECORDS;
	return bpf_map_lookup_elem(&noise_records, &group);
}

/* By writing into those that follow the first one; nothing is in them. */
static __always_inline void noise_fetch_group(struct noise_group *group)
{
	for (u32 i = 1; i < NOISE_GROUP_RECORDS; i++)
		WRITE_ONCE(group->records[i].flags, 0);
}

/*
 * Where a writer puts its record of so many intervals, which are counted as lost where this is NULL.
 * Pair with noise_commit() in either case.
 */
static __always_inline struct noise_event *noise_claim(struct noise_cpu *c, u32 *writer,
						       u32 intervals)
{
	u32 nest = c->writers;
	*writer = nest;
	c->writers = nest + 1;
	barrier();
	u64 head = c->rings[0].head, full_at = c->rings[0].full_at;
	u32 index = c->first_record + (head & c->ring_mask);
	if (nest || head >= full_at)
		index = noise_place(nest, intervals);
	struct noise_group *group = noise_group_of(index);
	if (group) {
		u32 place = index % NOISE_GROUP_RECORDS;
		if (!place && !nest && head + NOISE_GROUP_RECORDS <= full_at)
			noise_fetch_group(group);
		struct noise_event *event = &group->records[place];
		asm volatile("" : "+r"(event)); /* one address, see noise_state_among() */
		if (!event)
			__builtin_unreachable();
		return event;
	}
	return NULL;
}

static __always_inline void noise_commit(struct noise_cpu *c, struct noise_event *event, u32 writer)
{
	barrier();
	if (event && !writer) {
		WRITE_ONCE(c->rings[0].head, c->rings[0].head + 1);
	} else if (event) { /* what has a place has a ring; the mask tells the verifier */
		u32 nest = writer;
		asm volatile("" : "+r"(nest));
		struct noise_ring *ring = &c->rings[nest & (NOISE_RINGS - 1)];
		WRITE_ONCE(ring->head, ring->head + 1);
	}
	barrier();
	c->writers = writer;
}

/* Records what is no interval of a frame. */
static __always_inline void noise_record(struct noise_cpu *c, const struct noise_event *what)
{
	u32 writer;
	struct noise_event *event = noise_claim(c, &writer, 1);
	if (event)
		*event = *what;
	noise_commit(c, event, writer);
}

#endif
