// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "drain.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "affinity.h"
#include "capabilities.h"
#include "clock.h"
#include "cpu_counters.h"
#include "twins.h"

/* A block is written once it is so large, or as old as that when the rings are visited. */
#define SPOOL_BLOCK_BYTES (64u << 10)
#define SPOOL_BLOCK_NS (NS_PER_S / 4)
#define SPOOL_EARLY_BYTES (64u << 20)
/* What a burst has needed beyond this goes back to the kernel. */
#define SPARE_BYTES (16u << 20)
#define COUNTERS_INTERVAL_NS NS_PER_S
#define WRITERS_NS 1000000
#define DRAIN_NICE -15
/* A ring that is this full when it is visited fills up soon: it is visited more often. */
#define BUSY_SHARE 8
#define BUSY_VISITS 4
/* Up to 16 KiB of events: who looks at one after somebody else has finds it in the cache of this CPU. */
#define CHUNK_RECORDS 128
/* These have something else where intervals have a level. */
#define NO_INTERVAL (NOISE_FLAG_TRIGGER | NOISE_FLAG_NAME)
/* Records come from the cache of another CPU: so many are on their way. */
#define AHEAD_RECORDS 16
/* A block is a multiple of so many. */
#define PADDING_BYTES 8

/* The staging buffer begins with room for the block's header, so that a block is one write. */
struct staged {
	struct noise_block block;
	uint64_t count;
	uint8_t packed[];
};

static void spool__flush(struct drain *d)
{
	static const char padding[PADDING_BYTES];
	if (!d->staging.size)
		return;
	size_t over = d->staging.size % sizeof(padding);
	if (over) /* spool__pack() keeps room for it */
		buffer__append(&d->staging, padding, sizeof(padding) - over);
	struct staged *staged = (void *)d->staging.data;
	uint64_t events = staged->count;
	size_t bytes = d->staging.size - sizeof(staged->block);
	if (block_file__append_in_place(&d->spool, NOISE_BLOCK_KIND_PACKED, &staged->block,
					bytes)) {
		pthread_mutex_lock(&d->lock);
		d->lost_spool += events;
		d->spooled -= events;
		pthread_mutex_unlock(&d->lock);
	}
	d->staging.size = 0;
}

/* 0 or -ENOMEM. */
static int spool__pack(struct drain *d, const struct noise_event *events, size_t count)
{
	static const struct staged empty;
	bool first = !d->staging.size;
	int err = first ? buffer__append(&d->staging, &empty, sizeof(empty)) : 0;
	if (first) {
		memset(&d->packing, 0, sizeof(d->packing));
		d->staged_since_ns = monotonic_ns();
	}
	if (!err)
		err = buffer__reserve(&d->staging, count * PACKED_MOST_BYTES + PADDING_BYTES);
	if (err)
		return err;
	d->staging.size += packed_records__pack(&d->packing, events, count,
						offsetof(struct noise_event, source),
						(uint8_t *)d->staging.data + d->staging.size);
	((struct staged *)d->staging.data)->count += count;
	return 0;
}

static bool spool__is_due(const struct drain *d)
{
	return d->staging.size && monotonic_ns() - d->staged_since_ns >= SPOOL_BLOCK_NS;
}

static void spool__append(struct drain *d, const struct noise_event *events, size_t count)
{
	int err = 0;
	news__look(&d->news, events, count);
	/* The head of the file is not written yet: triggers of later events are kept until it is. */
	if (!d->window_start_ns && d->staging.size >= SPOOL_EARLY_BYTES)
		err = -ENOSPC;
	if (!err)
		err = spool__pack(d, events, count);
	pthread_mutex_lock(&d->lock);
	if (err)
		d->lost_spool += count;
	else
		d->spooled += count;
	d->noise_ns = d->news.noise_ns;
	pthread_mutex_unlock(&d->lock);
	if (d->staging.size >= SPOOL_BLOCK_BYTES && d->window_start_ns)
		spool__flush(d);
}

static void batch__append(struct drain *d, const struct noise_event *events, size_t count)
{
	size_t bytes = count * sizeof(*events);
	pthread_mutex_lock(&d->lock);
	if (d->batch.size + bytes > d->config.batch_limit ||
	    buffer__append(&d->batch, events, bytes))
		d->lost_batch += count;
	else
		d->batched += count;
	pthread_mutex_unlock(&d->lock);
}

struct buffer drain__take_news(struct drain *d)
{
	pthread_mutex_lock(&d->pass);
	struct buffer records = d->news.records;
	d->news.records = (struct buffer){0};
	pthread_mutex_unlock(&d->pass);
	return records;
}

void drain__announce_news(struct drain *d, int fd, uint64_t interval_ns)
{
	pthread_mutex_lock(&d->pass);
	d->news_fd = fd;
	d->news_interval_ns = interval_ns;
	pthread_mutex_unlock(&d->pass);
}

static void announce_news(struct drain *d)
{
	if (d->news_fd < 0 || !d->news.records.size)
		return;
	uint64_t now_ns = monotonic_ns();
	if (now_ns - d->news_announced_ns < d->news_interval_ns)
		return;
	/* It fails where it was not read for 2^64 times. */
	if (!eventfd_write(d->news_fd, 1))
		d->news_announced_ns = now_ns;
}

void drain__announce_twins(struct drain *d, sem_t *needed)
{
	pthread_mutex_lock(&d->pass);
	d->twins_needed = needed;
	pthread_mutex_unlock(&d->pass);
}

static void announce_twins(struct drain *d)
{
	if (!d->twins_needed || !twins__are_needed(d->rings))
		return;
	sem_post(d->twins_needed);
	d->twins_needed = NULL;
}

struct buffer drain__take_batch(struct drain *d)
{
	pthread_mutex_lock(&d->lock);
	struct buffer batch = d->batch;
	d->batch = d->spare;
	d->spare = (struct buffer){0};
	pthread_mutex_unlock(&d->lock);
	return batch;
}

void drain__give_back(struct drain *d, struct buffer *batch)
{
	pthread_mutex_lock(&d->lock);
	char *unused = batch->data;
	if (batch->capacity <= SPARE_BYTES && batch->capacity > d->spare.capacity) {
		unused = d->spare.data;
		d->spare = (struct buffer){.data = batch->data, .capacity = batch->capacity};
	}
	pthread_mutex_unlock(&d->lock);
	free(unused);
}

static void deliver(struct drain *d, const struct noise_event *events, size_t count)
{
	if (!count)
		return;
	if (d->spool.fd >= 0)
		spool__append(d, events, count);
	if (d->config.batch_limit)
		batch__append(d, events, count);
}

/*
 * Intervals count when they lie wholly inside the window, waits when they end in it. Their triggers
 * count from before it as well: a timer may have been armed long ago.
 */
static bool is_wanted(const struct noise_event *event, uint64_t start_ns, uint64_t end_ns)
{
	if (event->flags & NO_INTERVAL)
		return event->start_ns <= end_ns;
	if (event->flags & NOISE_FLAG_WAIT && start_ns) {
		uint64_t end = event->start_ns + event->gross_ns;
		return end >= start_ns && end <= end_ns;
	}
	return start_ns && event->start_ns >= start_ns &&
	       event->start_ns + event->gross_ns <= end_ns;
}

/* The two events of a pair, in the order in which they ended. */
static void split_pair(const struct noise_event *record, struct noise_event *events)
{
	struct noise_pair pair;
	memcpy(&pair, record, sizeof(pair));
	struct noise_event *inner = &events[0], *outer = &events[1];
	*inner = *record;
	inner->gross_ns = pair.gross_ns;
	inner->net_ns = pair.net_ns;
	inner->level &= ~NOISE_MARK_PAIR;
	inner->flags &= ~NOISE_FLAG_OUTERMOST;
	memset(inner->comm + sizeof(pair.object), 0, sizeof(inner->comm) - sizeof(pair.object));
	*outer = *inner;
	outer->start_ns = pair.start_ns - pair.before_ns;
	outer->gross_ns = (uint64_t)pair.before_ns + pair.gross_ns + pair.after_ns;
	outer->net_ns = pair.outer_net_ns;
	outer->id = pair.parent_id;
	outer->object = 0;
	outer->source = pair.parent_source;
	outer->parent_id = 0;
	outer->level = NOISE_LEVEL_IRQ;
	outer->flags = pair.flags;
}

/* Hands on those events of a chunk of records that are wanted. */
static void deliver_window(struct drain *d, const struct noise_event *records, size_t count,
			   uint64_t start_ns, uint64_t end_ns)
{
	struct noise_event events[2 * CHUNK_RECORDS];
	size_t wanted = 0;
	for (size_t i = 0; i < count; i++) {
		__builtin_prefetch(&records[i + AHEAD_RECORDS]);
		struct noise_event *next = &events[wanted];
		bool pair = !(records[i].flags & NO_INTERVAL) && records[i].level & NOISE_MARK_PAIR;
		if (pair)
			split_pair(&records[i], next);
		else
			*next = records[i];
		wanted += is_wanted(next, start_ns, end_ns);
		if (pair && is_wanted(next + 1, start_ns, end_ns))
			events[wanted++] = next[1];
	}
	deliver(d, events, wanted);
}

/* Whether it was busy. */
static bool drain_ring(struct drain *d, struct noise_cpu *state, uint32_t ring, uint64_t start_ns,
		       uint64_t end_ns)
{
	uint32_t records = ring ? NOISE_NESTED_RECORDS : state->ring_mask + 1;
	const struct noise_event *base = d->rings->records + state->first_record;
	if (ring)
		base += state->ring_mask + 1 + (ring - 1) * NOISE_NESTED_RECORDS;
	uint64_t head = __atomic_load_n(&state->rings[ring].head, __ATOMIC_ACQUIRE);
	uint64_t tail = state->tails[ring];
	bool busy = head - tail > records / BUSY_SHARE;
	while (tail != head) {
		uint32_t index = tail & (records - 1);
		size_t count = records - index;
		if (count > head - tail)
			count = head - tail;
		if (count > CHUNK_RECORDS)
			count = CHUNK_RECORDS;
		deliver_window(d, base + index, count, start_ns, end_ns);
		tail += count;
		__atomic_store_n(&state->tails[ring], tail, __ATOMIC_RELEASE);
	}
	return busy;
}

bool drain__now(struct drain *d)
{
	bool busy = false;

	pthread_mutex_lock(&d->pass);
	pthread_mutex_lock(&d->lock);
	uint64_t start_ns = d->window_start_ns;
	uint64_t end_ns = d->window_end_ns ? d->window_end_ns : UINT64_MAX;
	pthread_mutex_unlock(&d->lock);
	for (size_t i = 0; i < d->rings->cpu_count; i++)
		for (uint32_t ring = 0; ring < NOISE_RINGS; ring++)
			busy |= drain_ring(d, rings__state(d->rings, i), ring, start_ns, end_ns);
	if (start_ns && (end_ns != UINT64_MAX || spool__is_due(d)))
		spool__flush(d);
	announce_news(d);
	announce_twins(d);
	pthread_mutex_unlock(&d->pass);
	return busy;
}

void drain__counters(struct drain *d, struct noise_cpu_counters *counters)
{
	size_t count = d->rings->cpu_count;
	pthread_mutex_lock(&d->lock);
	if (d->window_end_ns)
		memcpy(counters, d->closing, count * sizeof(*counters));
	else
		cpu_counters__read(d->rings, counters);
	cpu_counters__subtract(counters, d->baseline, count);
	pthread_mutex_unlock(&d->lock);
}

static void spool_counters(struct drain *d)
{
	size_t bytes = d->rings->cpu_count * sizeof(struct noise_cpu_counters);
	if (d->spool.error || !d->window_start_ns)
		return;
	struct noise_cpu_counters *counters = calloc(1, bytes);
	if (!counters)
		return;
	drain__counters(d, counters);
	pthread_mutex_lock(&d->pass);
	block_file__append(&d->spool, NOISE_BLOCK_KIND_COUNTERS, counters, bytes);
	pthread_mutex_unlock(&d->pass);
	free(counters);
}

int drain__write_head(struct drain *d, const void *head, size_t bytes)
{
	pthread_mutex_lock(&d->pass);
	int err = block_file__write_head(&d->spool, head, bytes);
	pthread_mutex_unlock(&d->pass);
	return err;
}

int drain__append(struct drain *d, uint32_t kind, const void *payload, size_t bytes)
{
	pthread_mutex_lock(&d->pass);
	int err = block_file__append(&d->spool, kind, payload, bytes);
	pthread_mutex_unlock(&d->pass);
	return err;
}

uint64_t drain__start_window(struct drain *d)
{
	pthread_mutex_lock(&d->pass);
	uint64_t now_ns = cpu_counters__read_at_once(d->rings, d->baseline);
	if (d->spool.fd >= 0)
		block_file__append(&d->spool, NOISE_BLOCK_KIND_START, &now_ns, sizeof(now_ns));
	pthread_mutex_lock(&d->lock);
	d->window_start_ns = now_ns;
	pthread_mutex_unlock(&d->lock);
	pthread_mutex_unlock(&d->pass);
	return now_ns;
}

/*
 * An event that ended before the window did may still be on its way into a ring: give its
 * CPU a moment.
 */
static void let_writers_finish(void)
{
	struct timespec moment = {0, WRITERS_NS};
	nanosleep(&moment, NULL);
}

/*
 * A busy housekeeping CPU must not delay the drain. The lowest real-time priority, to stay behind
 * every task that asked for one; without the permission the priority stays as it is.
 */
static void be_prompt(void)
{
	const struct sched_param lowest = {.sched_priority = 1};
	if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &lowest))
		setpriority(PRIO_PROCESS, 0, DRAIN_NICE);
}

/* A late visit is not made up for, and others always get their turn on this CPU. */
static uint64_t next_visit(uint64_t last_ns, uint64_t interval_ns)
{
	uint64_t due_ns = last_ns + interval_ns, earliest_ns = monotonic_ns() + interval_ns / 4;
	return due_ns > earliest_ns ? due_ns : earliest_ns;
}

/* What is open at the end of the window comes last. */
static void deliver_open(struct drain *d)
{
	pthread_mutex_lock(&d->pass);
	deliver_window(d, (void *)d->open.data, d->open.size / sizeof(struct noise_event),
		       d->window_start_ns, d->window_end_ns);
	if (d->window_start_ns)
		spool__flush(d);
	pthread_mutex_unlock(&d->pass);
}

static void *drain_thread(void *argument)
{
	struct drain *d = argument;
	if (d->config.cpu >= 0)
		affinity__pin(d->config.cpu);
	be_prompt();
	/* It reads shared memory and writes to a file that is open, which takes no privilege. */
	capabilities__give_up();
	uint64_t next_ns = monotonic_ns(), next_counters_ns = next_ns + COUNTERS_INTERVAL_NS;
	bool stopping = false, busy = false;
	while (!stopping) {
		next_ns = next_visit(next_ns, d->config.interval_ns / (busy ? BUSY_VISITS : 1));
		struct timespec until = timespec_of(next_ns);
		pthread_mutex_lock(&d->lock);
		int err = 0;
		while (!d->stopping && err != ETIMEDOUT)
			err = pthread_cond_timedwait(&d->wake, &d->lock, &until);
		stopping = d->stopping;
		pthread_mutex_unlock(&d->lock);
		if (stopping)
			let_writers_finish();
		busy = drain__now(d);
		if (stopping)
			deliver_open(d);
		if (d->spool.fd >= 0 && (stopping || monotonic_ns() >= next_counters_ns)) {
			spool_counters(d);
			next_counters_ns += COUNTERS_INTERVAL_NS;
		}
	}
	return NULL;
}

int drain__init(struct drain *d, const struct drain_config *config, const struct rings *rings)
{
	pthread_condattr_t attributes;
	d->config = *config;
	d->spool.fd = config->spool_fd;
	d->news_fd = -1;
	d->rings = rings;
	pthread_mutex_init(&d->pass, NULL);
	pthread_mutex_init(&d->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&d->wake, &attributes);
	d->baseline = calloc(rings->cpu_count, sizeof(*d->baseline));
	d->closing = calloc(rings->cpu_count, sizeof(*d->closing));
	return d->baseline && d->closing ? 0 : -ENOMEM;
}

int drain__start(struct drain *d)
{
	int err = pthread_create(&d->thread, NULL, drain_thread, d);
	d->thread_started = !err;
	return -err;
}

void drain__stop(struct drain *d)
{
	if (!d->thread_started)
		return;
	/* A pass that goes on does not know the end yet, and would deliver what ends after it. */
	pthread_mutex_lock(&d->pass);
	pthread_mutex_lock(&d->lock);
	d->window_end_ns = cpu_counters__read_at_once(d->rings, d->closing);
	open_records__collect(&d->config.open, d->rings, d->window_end_ns, &d->open, NULL);
	d->stopping = true;
	pthread_cond_signal(&d->wake);
	pthread_mutex_unlock(&d->lock);
	pthread_mutex_unlock(&d->pass);
	pthread_join(d->thread, NULL);
	d->thread_started = false;
}

void drain__destroy(struct drain *d)
{
	if (!d->rings)
		return;
	drain__stop(d);
	free(d->baseline);
	free(d->closing);
	free(d->batch.data);
	free(d->spare.data);
	free(d->staging.data);
	free(d->news.records.data);
	free(d->open.data);
	pthread_cond_destroy(&d->wake);
	pthread_mutex_destroy(&d->lock);
	pthread_mutex_destroy(&d->pass);
	d->rings = NULL;
}
