// SPDX-License-Identifier: Apache-2.0
/*
 * usage: events CPU SENDER: makes events on CPU one after the other, and writes for each kind of
 * them a line with its name and, by batch, the ticks of the time-stamp counter that one took.
 *
 * Made for an emulator in which that counter counts the instructions of all CPUs. There the CPUs
 * take turns, and a pause ends a turn: what waits for the other CPU has to pause.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define BATCHES 40
#define WARM_UP 4 /* batches that do not count */
#define EVENTS 25 /* in a batch: short, so that most batches hold no tick */
#define AHEAD_NS 40000
#define SHORTEST_GAP 500 /* ticks; a look at the counter takes some ten */
#define PRIORITY 50

static int watched_cpu, sender_cpu;
static atomic_bool spinning, over;

static inline uint64_t ticks(void)
{
	return __builtin_ia32_rdtsc();
}

static void check(bool good, const char *what)
{
	if (good)
		return;
	perror(what);
	exit(1);
}

/* Ahead of everything else that runs there. */
static void run_on(int cpu)
{
	const struct sched_param high = {.sched_priority = PRIORITY};
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	check(!sched_setaffinity(0, sizeof(set), &set), "sched_setaffinity");
	check(!sched_setscheduler(0, SCHED_FIFO, &high), "sched_setscheduler");
}

static void *spin(void *unused)
{
	run_on(watched_cpu);
	atomic_store(&spinning, true);
	while (!atomic_load(&over))
		__builtin_ia32_pause();
	return unused;
}

static void make_ipi(void)
{
	check(!syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0), "membarrier");
}

/* A gap in the counter, which the timer makes, and nothing around it. */
static uint64_t timer_gap(void)
{
	static int timer = -1;
	const struct itimerspec once = {.it_value.tv_nsec = AHEAD_NS};
	uint64_t last, now, expirations;
	if (timer < 0)
		check((timer = timerfd_create(CLOCK_MONOTONIC, 0)) >= 0, "timerfd_create");
	check(!timerfd_settime(timer, 0, &once, NULL), "timerfd_settime");
	for (last = ticks(); (now = ticks()) - last < SHORTEST_GAP; last = now)
		;
	check(read(timer, &expirations, sizeof(expirations)) > 0, "read");
	return now - last;
}

static void make_packet(void)
{
	static int end = -1;
	static struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t size = sizeof(address);
	char byte = 0;
	if (end < 0) {
		address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		check((end = socket(AF_INET, SOCK_DGRAM, 0)) >= 0, "socket");
		check(!bind(end, (struct sockaddr *)&address, size), "bind");
		check(!getsockname(end, (struct sockaddr *)&address, &size), "getsockname");
	}
	check(sendto(end, &byte, 1, 0, (struct sockaddr *)&address, size) == 1, "sendto");
	check(recv(end, &byte, 1, 0) == 1, "recv");
}

static void make_switch(void)
{
	sched_yield();
}

static void *yield_too(void *unused)
{
	run_on(watched_cpu);
	while (!atomic_load(&over))
		sched_yield();
	return unused;
}

/* Of a batch: what its events took, by their gaps or from the first one's begin to the last's end. */
static uint64_t take_batch(void (*make)(void), uint64_t (*gap)(void))
{
	uint64_t begin = ticks(), gaps = 0;
	for (int event = 0; event < EVENTS; event++) {
		if (gap)
			gaps += gap();
		else
			make();
	}
	return gap ? gaps : ticks() - begin;
}

static void report(const char *name, void (*make)(void), uint64_t (*gap)(void))
{
	for (int batch = 0; batch < WARM_UP; batch++)
		take_batch(make, gap);
	double taken[BATCHES];
	for (int batch = 0; batch < BATCHES; batch++)
		taken[batch] = (double)take_batch(make, gap) / EVENTS;
	printf("%s", name);
	for (int batch = 0; batch < BATCHES; batch++)
		printf(" %.2f", taken[batch]);
	printf("\n");
	fflush(stdout);
}

static void beside(void *(*run)(void *), const char *name, void (*make)(void), int cpu)
{
	pthread_t other;
	atomic_store(&over, false);
	check(!(errno = pthread_create(&other, NULL, run, NULL)), "pthread_create");
	run_on(cpu);
	while (run == spin && !atomic_load(&spinning))
		__builtin_ia32_pause();
	report(name, make, NULL);
	atomic_store(&over, true);
	pthread_join(other, NULL);
}

int main(int argc, char **argv)
{
	check(argc == 3, "usage: events CPU SENDER");
	watched_cpu = atoi(argv[1]);
	sender_cpu = atoi(argv[2]);
	check(!mlockall(MCL_CURRENT | MCL_FUTURE), "mlockall");
	prctl(PR_SET_TIMERSLACK, 1);
	check(!syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0),
	      "membarrier");
	run_on(watched_cpu);
	report("timer", NULL, timer_gap);
	report("softirq", make_packet, NULL);
	beside(yield_too, "switch", make_switch, watched_cpu);
	beside(spin, "ipi", make_ipi, sender_cpu);
	return 0;
}
