/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The only reader of the rings. It polls from a housekeeping CPU, so that a watched CPU never has
 * to wake anybody, and holds no GIL.
 */
#ifndef NOISETOP_DRAIN_H
#define NOISETOP_DRAIN_H

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "block_file.h"
#include "buffer.h"
#include "news.h"
#include "open_records.h"
#include "packed_records.h"
#include "rings.h"

struct drain_config {
	int spool_fd; /* -1: no recording */
	int cpu;      /* -1: leave the thread where its creator may run */
	uint64_t interval_ns;
	struct open_records open;
	size_t batch_limit; /* bytes kept for Python, further events are lost; 0: keep none */
};

/* What comes after `lock` is shared with the thread, under that lock. */
struct drain {
	struct drain_config config;
	const struct rings *rings; /* the caller's, which outlive the thread */
	pthread_t thread;
	bool thread_started;
	pthread_mutex_t pass; /* held while the rings are drained */
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool stopping;
	uint64_t window_start_ns; /* 0: the measurement window has not started yet */
	uint64_t window_end_ns;   /* 0: it has not ended yet */
	struct buffer batch;
	struct buffer spare;       /* memory for the next batch */
	struct block_file spool;   /* shared under `pass` */
	struct buffer staging;     /* of the spool file's next write, under `pass` */
	uint64_t staged_since_ns;  /* when the first of it was staged */
	struct packing packing;    /* of what is staged */
	struct news news;          /* of what went to the spool, under `pass` */
	int news_fd;               /* an eventfd to tell of them, or -1; under `pass` */
	uint64_t news_interval_ns; /* at most so often */
	uint64_t news_announced_ns;
	sem_t *twins_needed;                 /* to be posted, or NULL; under `pass` */
	struct noise_cpu_counters *baseline; /* counters when the window started */
	struct noise_cpu_counters *closing;  /* counters when it ended */
	struct buffer open;                  /* records of what was open then */
	uint64_t batched;                    /* events handed to Python or waiting for it */
	uint64_t spooled;                    /* events written to the spool file or about to be */
	uint64_t noise_ns;                   /* of the events spooled */
	uint64_t lost_batch;                 /* dropped because Python did not fetch */
	uint64_t lost_spool;                 /* dropped because the disk took no more */
};

/* On zeroed memory. 0 or -errno; drain__destroy() in either case. */
int drain__init(struct drain *d, const struct drain_config *config, const struct rings *rings);
void drain__destroy(struct drain *d);

/* 0 or -errno. */
int drain__start(struct drain *d);
/* Ends the window, drains what is left, and ends the thread. */
void drain__stop(struct drain *d);
/* One pass over all rings, by whichever thread asks for it. Whether one of them was busy. */
bool drain__now(struct drain *d);
/*
 * The moment from which on events count, CLOCK_MONOTONIC. Taken while no pass over the rings is
 * under way: one that began before would throw away what has happened since.
 */
uint64_t drain__start_window(struct drain *d);
/* Write what is somebody else's to the spool, between the blocks of the thread. 0 or -errno. */
int drain__write_head(struct drain *d, const void *head, size_t bytes);
int drain__append(struct drain *d, uint32_t kind, const void *payload, size_t bytes);
/* What went to the spool since the last call and is told for the first time; the caller frees it. */
struct buffer drain__take_news(struct drain *d);
/* From now on an eventfd is written to when there are some, at most so often; -1: no longer. */
void drain__announce_news(struct drain *d, int fd, uint64_t interval_ns);
/* Is posted, once, when a pass finds that twins are needed: twins.h. */
void drain__announce_twins(struct drain *d, sem_t *needed);
/* What waits for Python, which gives the memory back: a fresh one would be faulted in anew. */
struct buffer drain__take_batch(struct drain *d);
void drain__give_back(struct drain *d, struct buffer *batch);
/* Counters since the window started, up to now or to its end, one entry per CPU. */
void drain__counters(struct drain *d, struct noise_cpu_counters *counters);

#endif
