/* SPDX-License-Identifier: Apache-2.0 */
/* A process whose threads spin on the counter and write down every gap. No Python in here. */
#ifndef NOISETOP_SPIN_H
#define NOISETOP_SPIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "counter.h"
#include "disturb.h"

#define SPIN_CACHE_LINE 64

enum spin_state {
	SPIN_STATE_STARTING,
	SPIN_STATE_READY, /* loop cost measured, waits for begin_ticks */
	SPIN_STATE_SPINNING,
	SPIN_STATE_DONE,
	SPIN_STATE_FAILED, /* see error and step */
};

/* Two successive readings of the counter that lie further apart than the threshold. */
struct spin_gap {
	uint64_t start_ticks;
	uint64_t end_ticks;
};

/* What the kernel counted for the spinning thread. */
struct spin_usage {
	uint64_t voluntary_switches;
	uint64_t involuntary_switches;
	uint64_t minor_faults;
	uint64_t major_faults;
	uint64_t cpu_ns;       /* CLOCK_THREAD_CPUTIME_ID: without steal */
	uint64_t run_delay_ns; /* runnable but not running; 0 where the kernel does not count it */
};

/* Shared between a spinning thread and the process that started it. */
struct spin_shared {
	/* Written by the starter. */
	uint64_t begin_ticks; /* 0: not yet */
	uint64_t end_ticks;   /* an earlier moment ends the loop at once */
	uint64_t threshold_ticks;
	uint64_t long_ticks; /* the last of the room is kept for gaps as long as that */
	uint64_t busy_ticks; /* spin that long, then sleep_ns; 0: never sleep */
	uint64_t sleep_ns;
	/* Written by the spinning thread, on lines of its own. */
	uint32_t state __attribute__((aligned(SPIN_CACHE_LINE)));
	int32_t error;
	uint32_t tid;
	uint32_t reserved;
	char step[24];
	uint64_t loop_ticks;       /* smallest common difference of two readings */
	uint64_t resolution_ticks; /* what every reading is a multiple of */
	struct clock_pair began;   /* on the spinning CPU, right before and after the loop */
	struct clock_pair ended;
	uint64_t first_ticks;
	uint64_t last_ticks;
	uint64_t active_ticks; /* without the sleeps of the duty cycle */
	uint64_t loops;
	uint64_t sleeps;
	uint64_t gap_count;
	uint64_t unstored_count; /* gaps that found no room, their time is in unstored_ticks */
	uint64_t unstored_ticks;
	struct spin_usage usage;
	struct spin_gap gaps[] __attribute__((aligned(SPIN_CACHE_LINE)));
};

/* One thread. */
struct spin_config {
	struct spin_shared *shared;
	size_t gap_capacity;
	int cpu;             /* -1: any */
	bool schedule;       /* else policy and priority stay as they are */
	uint32_t policy;     /* SCHED_* */
	int32_t nice;        /* of SCHED_OTHER */
	uint32_t priority;   /* of SCHED_FIFO and SCHED_RR */
	uint64_t runtime_ns; /* of SCHED_DEADLINE */
	uint64_t period_ns;
	bool fenced;
	const char *name;
	struct disturbance *disturbance; /* NULL: none; only for a thread that is bound */
};

/*
 * Forks the spinning process, with a memory of its own, so that what the starter maps and unmaps
 * sends it no interrupts. Its pid or -errno. It joins the process group, or makes a new one when
 * that is 0, and dies with the thread that started it.
 */
pid_t spin__start(const struct spin_config *configs, size_t count, pid_t group);

/* The pair with the smallest distance between the readings of the counter, of `tries`. */
void clock_pair__read(struct clock_pair *pair, int tries);

#endif
