// SPDX-License-Identifier: Apache-2.0
/*
 * A victim under a steady load, and what takes its CPU once, at a moment of somebody's choice.
 *
 *     spikes victim CPU OTHER_CPU        spins on CPU for 45 ms of 50, is interrupted 1000 times a
 *                                        second from OTHER_CPU
 *     spikes fifo CPU MICROSECONDS       a real-time task takes CPU for so long
 *     spikes ipi OTHER_CPU MICROSECONDS CPU   interrupts CPU from OTHER_CPU as often as it can
 *     spikes timers CPU COUNT            so many timers that were armed on CPU expire there at once
 *
 * Each says "ready", and all but the victim wait for a line on stdin, act where the victim works
 * next, and say when that began and ended (CLOCK_MONOTONIC, ns) and how often it acted. They end
 * with their stdin.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/membarrier.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NSEC_PER_SEC 1000000000ull
#define STEADY_NS 1000000
#define TURN_NS 50000000 /* of the victim, by the clock, so that others know where it is in one */
#define SHIFT_NS 45000000 /* then it rests: what the kernel has to do on its CPU is done */
#define STRIKE_NS 10000000 /* in a turn: what strikes a victim that rests takes nothing from it */
#define MOST_TIMERS 20000
#define AT_ONCE 32 /* so that arming them is no spike itself */
#define BETWEEN_NS 2000000
#define AHEAD_NS 20000000
#define AFTERWARDS_NS 50000000

static void check(int good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "spikes: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NSEC_PER_SEC + now.tv_nsec;
}

static void sleep_until(uint64_t ns)
{
	struct timespec then = {.tv_sec = ns / NSEC_PER_SEC, .tv_nsec = ns % NSEC_PER_SEC};
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &then, NULL) == EINTR)
		;
}

static void be(const char *name, int cpu, int priority)
{
	struct sched_param param = {.sched_priority = priority};
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	prctl(PR_SET_NAME, name);
	check(!sched_setaffinity(0, sizeof(set), &set), "sched_setaffinity");
	check(!sched_setscheduler(0, SCHED_FIFO, &param), "SCHED_FIFO");
}

static void spin_until(uint64_t ns)
{
	while (now_ns() < ns)
		;
}

static uint64_t next_turn(uint64_t ns)
{
	return (ns / TURN_NS + 1) * TURN_NS;
}

/* The next moment from ns on at which the victim works. */
static uint64_t next_strike(uint64_t ns)
{
	uint64_t strike = ns / TURN_NS * TURN_NS + STRIKE_NS;
	return strike < ns ? strike + TURN_NS : strike;
}

static void *suffer(void *cpu)
{
	be("spun-on", *(int *)cpu, 1);
	for (uint64_t turn = next_turn(now_ns());; turn = next_turn(now_ns())) {
		sleep_until(turn);
		spin_until(turn + SHIFT_NS);
	}
	return NULL;
}

static void *load(void *cpu)
{
	be("steady", *(int *)cpu, 1);
	for (uint64_t next = now_ns();; next += STEADY_NS) {
		sleep_until(next);
		syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
	}
	return NULL;
}

static void be_victim(int cpu, int other_cpu)
{
	pthread_t victim, sender;
	check(!syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0), "register");
	check(!pthread_create(&victim, NULL, suffer, &cpu), "pthread_create");
	check(!pthread_create(&sender, NULL, load, &other_cpu), "pthread_create");
	puts("ready");
	while (getchar() != EOF)
		;
}

/* An event that counts on a CPU: who reads it elsewhere interrupts that CPU for its value. */
static int open_counter(int cpu)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr), .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK};
	return syscall(SYS_perf_event_open, &attr, -1, cpu, -1, 0);
}

static long read_for(int counter, uint64_t ns)
{
	uint64_t value;
	long reads = 0;
	for (uint64_t until = now_ns() + ns; now_ns() < until; reads++)
		check(read(counter, &value, sizeof(value)) == sizeof(value), "read");
	return reads;
}

static timer_t timers[MOST_TIMERS];

static void make_timers(long count)
{
	struct rlimit room = {MOST_TIMERS * 2, MOST_TIMERS * 2};
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN};
	sigset_t signals;
	check(!setrlimit(RLIMIT_SIGPENDING, &room), "RLIMIT_SIGPENDING");
	event._sigev_un._tid = gettid();
	sigemptyset(&signals);
	sigaddset(&signals, SIGRTMIN);
	sigprocmask(SIG_BLOCK, &signals, NULL); /* nobody is woken when they expire */
	for (long i = 0; i < count; i++)
		check(!timer_create(CLOCK_MONOTONIC, &event, &timers[i]), "timer_create");
}

/* When they expire: each nap may take half as long again. */
static uint64_t arm_timers(long count)
{
	uint64_t armed = now_ns() + (count / AT_ONCE + 1) * (BETWEEN_NS + BETWEEN_NS / 2);
	uint64_t due = next_strike(armed + AHEAD_NS);
	struct itimerspec once = {.it_value = {due / NSEC_PER_SEC, due % NSEC_PER_SEC}};
	for (long i = 0; i < count; i++) {
		check(!timer_settime(timers[i], TIMER_ABSTIME, &once, NULL), "timer_settime");
		if (i % AT_ONCE == AT_ONCE - 1)
			sleep_until(now_ns() + BETWEEN_NS);
	}
	return due;
}

static void act(const char *kind, long amount, int counter)
{
	uint64_t start, end;
	long done = 1;
	if (!strcmp(kind, "timers")) {
		start = end = arm_timers(amount);
		done = amount;
		sleep_until(start + AFTERWARDS_NS);
	} else {
		sleep_until(next_strike(now_ns()));
		start = now_ns();
		if (!strcmp(kind, "ipi"))
			done = read_for(counter, amount * 1000);
		else
			spin_until(start + amount * 1000);
		end = now_ns();
	}
	printf("%llu %llu %ld\n", (unsigned long long)start, (unsigned long long)end, done);
}

int main(int argc, char **argv)
{
	char line[16], name[16];
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc < 4) {
		fprintf(stderr, "usage: spikes victim|fifo|ipi|timers CPU OTHER_CPU|AMOUNT [CPU]\n");
		return 2;
	}
	const char *kind = argv[1];
	int cpu = atoi(argv[2]);
	if (!strcmp(kind, "victim")) {
		be_victim(cpu, atoi(argv[3]));
		return 0;
	}
	long amount = atol(argv[3]);
	int counter = -1, is_timers = !strcmp(kind, "timers");
	snprintf(name, sizeof(name), "spike-%s", kind);
	be(name, cpu, 2);
	if (amount < 1 || (is_timers && amount > MOST_TIMERS))
		return 2;
	if (is_timers)
		make_timers(amount);
	if (argc > 4) {
		counter = open_counter(atoi(argv[4]));
		check(counter >= 0, "perf_event_open");
	}
	puts("ready");
	while (fgets(line, sizeof(line), stdin))
		act(kind, amount, counter);
	return 0;
}
