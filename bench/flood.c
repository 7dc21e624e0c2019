// SPDX-License-Identifier: Apache-2.0
/*
 * A flood of events: on each CPU given, threads that do nothing but arm a timer that never expires,
 * which is one record for every tracer.
 *
 *     flood PER_SECOND MILLISECONDS THREADS CPU...
 *
 * PER_SECOND is for each CPU, 0: as fast as it goes; what is late is made up for. Prints how often
 * a timer was armed, and within how many ns.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define NSEC_PER_SEC 1000000000ull
#define MAX_THREADS 512
#define FIRST_CPU 4
#define FAR_AWAY_S 3600
#define CHECKED_EVERY 16 /* reading the clock each time would slow the flood down */

struct flood {
	int cpu;
	uint64_t per_second;
	uint64_t length_ns;
	uint64_t done;
	uint64_t took_ns;
};

static atomic_int ready;
static int wanted;

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NSEC_PER_SEC + now.tv_nsec;
}

static void *run(void *argument)
{
	static const struct itimerspec far = {.it_value.tv_sec = FAR_AWAY_S};
	struct flood *flood = argument;
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(flood->cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		exit(1);
	int timer = timerfd_create(CLOCK_MONOTONIC, 0);
	atomic_fetch_add(&ready, 1);
	while (atomic_load(&ready) < wanted)
		sched_yield();
	uint64_t start_ns = now_ns(), since_ns = 0;
	while (since_ns < flood->length_ns) {
		uint64_t due = flood->per_second ? flood->per_second * since_ns / NSEC_PER_SEC
						 : flood->done + CHECKED_EVERY;
		for (int i = 0; i < CHECKED_EVERY && flood->done < due; i++, flood->done++)
			timerfd_settime(timer, 0, &far, NULL);
		since_ns = now_ns() - start_ns;
	}
	flood->took_ns = since_ns;
	close(timer);
	return NULL;
}

int main(int argc, char **argv)
{
	static struct flood floods[MAX_THREADS];
	static pthread_t threads[MAX_THREADS];
	uint64_t done = 0, took_ns = 0;
	int per_cpu = argc > 4 ? atoi(argv[3]) : 0;
	wanted = per_cpu * (argc - FIRST_CPU);
	if (wanted < 1 || wanted > MAX_THREADS) {
		fprintf(stderr, "usage: flood PER_SECOND MILLISECONDS THREADS CPU...\n");
		return 2;
	}
	for (int i = 0; i < wanted; i++) {
		floods[i] = (struct flood){
			.cpu = atoi(argv[FIRST_CPU + i / per_cpu]),
			.per_second = strtoull(argv[1], NULL, 10) / per_cpu,
			.length_ns = strtoull(argv[2], NULL, 10) * 1000000,
		};
		if (pthread_create(&threads[i], NULL, run, &floods[i]))
			return 1;
	}
	for (int i = 0; i < wanted; i++) {
		pthread_join(threads[i], NULL);
		done += floods[i].done;
		took_ns = floods[i].took_ns > took_ns ? floods[i].took_ns : took_ns;
	}
	printf("%llu %llu\n", (unsigned long long)done, (unsigned long long)took_ns);
	return 0;
}
