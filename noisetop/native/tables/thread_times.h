/* SPDX-License-Identifier: Apache-2.0 */
/* Sleep, waits and run time of threads: the state of each, and its sums since the last close. */
#ifndef NOISETOP_TABLES_THREAD_TIMES_H
#define NOISETOP_TABLES_THREAD_TIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "group_table.h"

#define THREAD_CPU_UNKNOWN -1

/* What a record tells. */
enum thread_record_kind {
	THREAD_WAITED,
	THREAD_WOKEN, /* and waited */
	THREAD_THROTTLED,
	THREAD_BLOCKED,
	THREAD_EXITED,
};

struct thread_record {
	uint64_t tid, cpu, start_ns, end_ns, kind;
	uint64_t slept_ns; /* before it began */
};

struct thread_on_cpu {
	int64_t cpu;
	uint64_t ns;
};

struct thread_time {
	uint64_t since_ns; /* the part of the wall that is not told yet begins here */
	uint64_t until_ns; /* up to here it is known to have slept or waited */
	uint64_t wall_ns, blocked_ns, delay_ns, throttled_ns;
	int64_t cpu; /* where it runs, or unknown */
	bool alive;
	bool seen; /* a record told of it: what comes before the next one is known */
	uint32_t cpus, room;
	struct thread_on_cpu *ran_on;
};

struct thread_times {
	struct group_table tids; /* number: the place of its time */
	struct thread_time *times;
	uint32_t room;
	uint64_t closed_ns;
	uint64_t new_mark; /* as slept_ns: it was born, or came */
	bool follows;      /* a first wake-up ends a sleep; else the thread comes with it */
};

/* The time of a thread, which begins at the last close if there is none. NULL without memory. */
struct thread_time *thread_times__of(struct thread_times *t, uint64_t tid);

/*
 * Accounts records in their order. The part of each wait that was not accounted before and whose
 * causes are to be found begins at `begins`; UINT64_MAX: there is none. -1 without memory.
 */
int thread_times__account(struct thread_times *t, const struct thread_record *records, size_t count,
			  uint64_t *begins);

/* Begins the next period of all that live, and forgets the others. -1 without memory. */
int thread_times__close(struct thread_times *t, uint64_t until_ns);

/* Forgets one; the places of others change. -1 without memory. */
int thread_times__forget(struct thread_times *t, const uint64_t *tids, size_t count);
void thread_times__destroy(struct thread_times *t);

#endif
