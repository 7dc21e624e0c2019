// SPDX-License-Identifier: Apache-2.0
/*
 * The only reader of the rings. It polls from a housekeeping CPU, so that a watched CPU never has
 * to wake anybody, and holds no GIL.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "tracer.h"

#define NSEC_PER_SEC 1000000000ull
#define SPOOL_BLOCK_BYTES (1u << 20)
#define SPOOL_EARLY_BYTES (64u << 20)
#define BOOKS_INTERVAL_NS NSEC_PER_SEC
#define WRITERS_NS 1000000
#define DRAIN_NICE -15
/* A ring that is this full when it is visited fills up soon: it is visited more often. */
#define BUSY_SHARE 8
#define BUSY_VISITS 4
#define AT_ONCE_NS 20000
#define AT_ONCE_TRIES 1000

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return now.tv_sec * NSEC_PER_SEC + now.tv_nsec;
}

uint64_t monotonic_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static int buffer__append(struct buffer *buffer, const void *bytes, size_t size)
{
	if (buffer->size + size > buffer->capacity) {
		size_t capacity = buffer->capacity ? buffer->capacity * 2 : 1 << 16;
		while (capacity < buffer->size + size)
			capacity *= 2;
		char *data = realloc(buffer->data, capacity);
		if (!data)
			return -ENOMEM;
		buffer->data = data;
		buffer->capacity = capacity;
	}
	memcpy(buffer->data + buffer->size, bytes, size);
	buffer->size += size;
	return 0;
}

/* All or nothing: a part that was written when the disk filled up is cut off again. */
static int spool__write(int fd, const void *bytes, size_t size)
{
	off_t start = lseek(fd, 0, SEEK_CUR);
	const char *next = bytes;
	size_t left = size;
	while (left) {
		ssize_t written = write(fd, next, left);
		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0) {
			int err = written < 0 ? -errno : -EIO;
			if (!ftruncate(fd, start))
				lseek(fd, start, SEEK_SET);
			return err;
		}
		next += written;
		left -= written;
	}
	return 0;
}

/* The staging buffer begins with room for the block's header, so that a block is one write. */
static void spool__flush(struct tracer *t)
{
	struct noise_block *block = (void *)t->staging.data;
	if (!block || t->staging.size <= sizeof(*block))
		return;
	block->magic = NOISE_BLOCK_MAGIC;
	block->kind = NOISE_BLOCK_KIND_EVENTS;
	block->bytes = t->staging.size - sizeof(*block);
	int err = t->spool_errno
			  ? -t->spool_errno
			  : spool__write(t->config.spool_fd, t->staging.data, t->staging.size);
	uint64_t events = block->bytes / sizeof(struct noise_event);
	pthread_mutex_lock(&t->lock);
	if (err) {
		t->spool_errno = -err;
		t->lost_spool += events;
		t->spooled -= events;
	}
	pthread_mutex_unlock(&t->lock);
	t->staging.size = 0;
}

static void spool__append(struct tracer *t, const struct noise_event *events, size_t count)
{
	static const struct noise_block no_header;
	size_t bytes = count * sizeof(*events);
	int err = 0;
	/* The head of the file is not written yet: what explains later events is kept until it is. */
	if (!t->window_start_ns && t->staging.size >= SPOOL_EARLY_BYTES)
		err = -ENOSPC;
	if (!err && !t->staging.size)
		err = buffer__append(&t->staging, &no_header, sizeof(no_header));
	if (!err)
		err = buffer__append(&t->staging, events, bytes);
	pthread_mutex_lock(&t->lock);
	if (err)
		t->lost_spool += count;
	else
		t->spooled += count;
	pthread_mutex_unlock(&t->lock);
	if (t->staging.size >= SPOOL_BLOCK_BYTES && t->window_start_ns)
		spool__flush(t);
}

static void batch__append(struct tracer *t, const struct noise_event *events, size_t count)
{
	size_t bytes = count * sizeof(*events);
	pthread_mutex_lock(&t->lock);
	if (t->batch.size + bytes > t->config.batch_limit ||
	    buffer__append(&t->batch, events, bytes))
		t->lost_batch += count;
	else
		t->batched += count;
	pthread_mutex_unlock(&t->lock);
}

static void deliver(struct tracer *t, const struct noise_event *events, size_t count)
{
	if (!count)
		return;
	if (t->config.spool_fd >= 0)
		spool__append(t, events, count);
	if (t->config.batch_limit)
		batch__append(t, events, count);
}

/*
 * Intervals count when they lie wholly inside the window. What explains them counts from before it
 * as well: a timer may have been armed long ago.
 */
static bool is_wanted(const struct noise_event *event, uint64_t start_ns, uint64_t end_ns)
{
	if (event->flags & (NOISE_FLAG_TRIGGER | NOISE_FLAG_NAME))
		return event->start_ns <= end_ns;
	return start_ns && event->start_ns >= start_ns &&
	       event->start_ns + event->gross_ns <= end_ns;
}

/* Hands on the longest runs of records that are wanted. */
static void deliver_window(struct tracer *t, const struct noise_event *events, size_t count,
			   uint64_t start_ns, uint64_t end_ns)
{
	size_t first = 0;
	for (size_t i = 0; i < count; i++) {
		if (is_wanted(&events[i], start_ns, end_ns))
			continue;
		deliver(t, events + first, i - first);
		first = i + 1;
	}
	deliver(t, events + first, count - first);
}

/* Whether it was busy. */
static bool drain_ring(struct tracer *t, struct noise_cpu *state, uint32_t ring, uint64_t start_ns,
		       uint64_t end_ns)
{
	uint32_t records = ring ? NOISE_NESTED_RECORDS : state->ring_records;
	const struct noise_event *base = t->records + state->first_record;
	if (ring)
		base += state->ring_records + (ring - 1) * NOISE_NESTED_RECORDS;
	uint64_t head = __atomic_load_n(&state->rings[ring].head, __ATOMIC_ACQUIRE);
	uint64_t tail = state->tails[ring];
	bool busy = head - tail > records / BUSY_SHARE;
	while (tail != head) {
		uint32_t index = tail & (records - 1);
		size_t count = records - index;
		if (count > head - tail)
			count = head - tail;
		deliver_window(t, base + index, count, start_ns, end_ns);
		tail += count;
		__atomic_store_n(&state->tails[ring], tail, __ATOMIC_RELEASE);
	}
	return busy;
}

/* One pass over all rings, by whichever thread asks for it. Whether one of them was busy. */
bool drain__now(struct tracer *t)
{
	bool busy = false;

	pthread_mutex_lock(&t->pass);
	pthread_mutex_lock(&t->lock);
	uint64_t start_ns = t->window_start_ns;
	uint64_t end_ns = t->window_end_ns ? t->window_end_ns : UINT64_MAX;
	pthread_mutex_unlock(&t->lock);
	for (size_t i = 0; i < t->config.cpu_count; i++)
		for (uint32_t ring = 0; ring < NOISE_RINGS; ring++)
			busy |= drain_ring(t, &t->states[i], ring, start_ns, end_ns);
	if (t->config.spool_fd >= 0 && start_ns)
		spool__flush(t);
	pthread_mutex_unlock(&t->pass);
	return busy;
}

static void read_books(struct tracer *t, struct noise_books *books)
{
	for (size_t i = 0; i < t->config.cpu_count; i++) {
		struct noise_cpu *state = &t->states[i];
		books[i].cpu = t->cpus[i];
		for (int reason = 0; reason < NOISE_LOSSES; reason++)
			books[i].losses[reason] =
				__atomic_load_n(&state->losses[reason], __ATOMIC_RELAXED);
		for (int reason = 0; reason < NOISE_TICKS; reason++)
			books[i].ticks[reason] =
				__atomic_load_n(&state->ticks[reason], __ATOMIC_RELAXED);
	}
}

/*
 * The counts and the moment that they belong to. Tried again when this thread was interrupted in
 * between; on a machine that never lets it through the last try counts.
 */
static uint64_t read_books_at_once(struct tracer *t, struct noise_books *books)
{
	uint64_t now_ns = 0;
	for (int i = 0; i < AT_ONCE_TRIES; i++) {
		now_ns = monotonic_ns();
		read_books(t, books);
		if (monotonic_ns() - now_ns < AT_ONCE_NS)
			break;
	}
	return now_ns;
}

/* Counts since the books were opened, up to now or to their end, one entry per CPU. */
void drain__books(struct tracer *t, struct noise_books *books)
{
	pthread_mutex_lock(&t->lock);
	if (t->window_end_ns)
		memcpy(books, t->closing, t->config.cpu_count * sizeof(*books));
	else
		read_books(t, books);
	for (size_t i = 0; i < t->config.cpu_count; i++) {
		for (int reason = 0; reason < NOISE_LOSSES; reason++)
			books[i].losses[reason] -= t->baseline[i].losses[reason];
		for (int reason = 0; reason < NOISE_TICKS; reason++)
			books[i].ticks[reason] -= t->baseline[i].ticks[reason];
	}
	pthread_mutex_unlock(&t->lock);
}

static int spool__block(struct tracer *t, uint32_t kind, const void *payload, size_t bytes)
{
	struct noise_block *block = malloc(sizeof(*block) + bytes);
	if (!block)
		return -ENOMEM;
	block->magic = NOISE_BLOCK_MAGIC;
	block->kind = kind;
	block->bytes = bytes;
	memcpy(block + 1, payload, bytes);
	int err = spool__write(t->config.spool_fd, block, sizeof(*block) + bytes);
	free(block);
	return err;
}

static void spool_books(struct tracer *t)
{
	if (t->spool_errno || !t->window_start_ns)
		return;
	struct noise_books *books = calloc(t->config.cpu_count, sizeof(*books));
	if (!books)
		return;
	drain__books(t, books);
	pthread_mutex_lock(&t->pass);
	int err = spool__block(t, NOISE_BLOCK_KIND_BOOKS, books,
			       t->config.cpu_count * sizeof(*books));
	if (err)
		t->spool_errno = -err;
	pthread_mutex_unlock(&t->pass);
	free(books);
}

/* A block of somebody else's, between those of the drain thread. */
int drain__append(struct tracer *t, const void *block, size_t bytes)
{
	pthread_mutex_lock(&t->pass);
	int err = t->spool_errno ? -t->spool_errno : spool__write(t->config.spool_fd, block, bytes);
	if (err)
		t->spool_errno = -err;
	pthread_mutex_unlock(&t->pass);
	return err;
}

/*
 * The moment from which on events count. Taken while no pass over the rings is under way: one that
 * began before would throw away what has happened since.
 */
uint64_t drain__open_books(struct tracer *t)
{
	pthread_mutex_lock(&t->pass);
	uint64_t now_ns = read_books_at_once(t, t->baseline);
	if (t->config.spool_fd >= 0)
		t->spool_errno = -spool__block(t, NOISE_BLOCK_KIND_START, &now_ns, sizeof(now_ns));
	pthread_mutex_lock(&t->lock);
	t->window_start_ns = now_ns;
	pthread_mutex_unlock(&t->lock);
	pthread_mutex_unlock(&t->pass);
	return now_ns;
}

/*
 * An event that ended before the books were closed may still be on its way into a ring: give its
 * CPU a moment.
 */
static void let_writers_finish(void)
{
	struct timespec moment = {0, WRITERS_NS};
	nanosleep(&moment, NULL);
}

static void pin_to(int cpu)
{
	if (cpu < 0)
		return;
	cpu_set_t *set = CPU_ALLOC(cpu + 1);
	size_t size = CPU_ALLOC_SIZE(cpu + 1);
	if (!set)
		return;
	CPU_ZERO_S(size, set);
	CPU_SET_S(cpu, size, set);
	sched_setaffinity(0, size, set);
	CPU_FREE(set);
}

/*
 * A busy housekeeping CPU must not make events wait. The lowest real-time priority, so as not to be
 * ahead of anybody who asked for one; without the right to either it stays as it is.
 */
static void be_prompt(void)
{
	const struct sched_param lowest = {.sched_priority = 1};
	if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &lowest))
		setpriority(PRIO_PROCESS, 0, DRAIN_NICE);
}

/* A visit that took long is not made up for, and others get their turn on this CPU in any case. */
static uint64_t next_visit(uint64_t last_ns, uint64_t interval_ns)
{
	uint64_t due_ns = last_ns + interval_ns, earliest_ns = monotonic_ns() + interval_ns / 4;
	return due_ns > earliest_ns ? due_ns : earliest_ns;
}

static void *drain_thread(void *argument)
{
	struct tracer *t = argument;
	pin_to(t->config.drain_cpu);
	be_prompt();
	uint64_t next_ns = monotonic_ns(), next_books_ns = next_ns + BOOKS_INTERVAL_NS;
	bool stopping = false, busy = false;
	while (!stopping) {
		next_ns =
			next_visit(next_ns, t->config.drain_interval_ns / (busy ? BUSY_VISITS : 1));
		struct timespec until = {next_ns / NSEC_PER_SEC, next_ns % NSEC_PER_SEC};
		pthread_mutex_lock(&t->lock);
		int err = 0;
		while (!t->stopping && err != ETIMEDOUT)
			err = pthread_cond_timedwait(&t->wake, &t->lock, &until);
		stopping = t->stopping;
		t->drains++;
		t->drain_cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		pthread_mutex_unlock(&t->lock);
		if (stopping)
			let_writers_finish();
		busy = drain__now(t);
		if (t->config.spool_fd >= 0 && (stopping || monotonic_ns() >= next_books_ns)) {
			spool_books(t);
			next_books_ns += BOOKS_INTERVAL_NS;
		}
	}
	return NULL;
}

int drain__start(struct tracer *t)
{
	int err = pthread_create(&t->thread, NULL, drain_thread, t);
	t->thread_started = !err;
	return -err;
}

/* Closes the books, drains what is left, and ends the thread. */
void drain__stop(struct tracer *t)
{
	if (!t->thread_started)
		return;
	pthread_mutex_lock(&t->lock);
	t->window_end_ns = read_books_at_once(t, t->closing);
	t->stopping = true;
	pthread_cond_signal(&t->wake);
	pthread_mutex_unlock(&t->lock);
	pthread_join(t->thread, NULL);
	t->thread_started = false;
}
