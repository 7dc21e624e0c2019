// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "spin.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "affinity.h"
#include "clock.h"
#include "noise.h"

#define WARM_UP_LOOPS 200000
#define WARM_UP_TICKS 4096 /* longer differences are no loops but gaps */
#define WARM_UP_TRIES 10
#define COMMON_SHARE 100 /* what a loop costs is seen in one of so many of them */
#define CLOCK_TRIES 64
#define POLL_NS 200000

#define READ_SHARED(x) (*(volatile typeof(x) *)&(x))
#define WRITE_SHARED(x, value) (*(volatile typeof(x) *)&(x) = (value))

/* include/uapi/linux/sched/types.h: glibc has had it only since 2.41. */
struct kernel_sched_attr {
	uint32_t size;
	uint32_t policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime;
	uint64_t deadline;
	uint64_t period;
};

void clock_pair__read(struct clock_pair *pair, int tries)
{
	uint64_t best = UINT64_MAX;
	for (int i = 0; i < tries; i++) {
		uint64_t before = counter_now_fenced();
		uint64_t ns = monotonic_ns();
		uint64_t after = counter_now_fenced();
		if (after - before >= best)
			continue;
		best = after - before;
		*pair = (struct clock_pair){before, ns, after};
	}
}

static uint64_t greatest_common_divisor(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;
		a = b;
		b = rest;
	}
	return a;
}

/* The loop's own cost and the step of the counter, while nothing is recorded yet; 0 if unclear. */
static void measure_loop(struct spin_shared *shared, bool fenced)
{
	uint32_t counts[WARM_UP_TICKS] = {0};
	uint64_t before = counter_now();
	for (int i = 0; i < WARM_UP_LOOPS; i++) {
		uint64_t now = fenced ? counter_now_fenced() : counter_now();
		if (now - before < WARM_UP_TICKS)
			counts[now - before]++;
		before = now;
	}
	/* Rare differences are left out: where a hypervisor adjusts the counter, odd ones occur. */
	for (uint64_t ticks = 1; ticks < WARM_UP_TICKS; ticks++) {
		if (counts[ticks] < WARM_UP_LOOPS / COMMON_SHARE)
			continue;
		if (!shared->loop_ticks)
			shared->loop_ticks = ticks;
		shared->resolution_ticks = greatest_common_divisor(ticks, shared->resolution_ticks);
	}
}

/* Second figure of schedstat: include/linux/sched.h, sched_info.run_delay. */
static uint64_t read_run_delay_ns(void)
{
	char text[96] = "";
	int fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	ssize_t size = read(fd, text, sizeof(text) - 1);
	close(fd);
	char *second = size > 0 ? strchr(text, ' ') : NULL;
	return second ? strtoull(second, NULL, 10) : 0;
}

static void read_usage(struct spin_usage *usage)
{
	struct rusage used;
	usage->cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	usage->run_delay_ns = read_run_delay_ns();
	getrusage(RUSAGE_THREAD, &used);
	usage->voluntary_switches = used.ru_nvcsw;
	usage->involuntary_switches = used.ru_nivcsw;
	usage->minor_faults = used.ru_minflt;
	usage->major_faults = used.ru_majflt;
}

static void subtract_usage(struct spin_usage *usage, const struct spin_usage *before)
{
	usage->voluntary_switches -= before->voluntary_switches;
	usage->involuntary_switches -= before->involuntary_switches;
	usage->minor_faults -= before->minor_faults;
	usage->major_faults -= before->major_faults;
	usage->cpu_ns -= before->cpu_ns;
	usage->run_delay_ns -= before->run_delay_ns;
}

/* What the loop counts, kept in registers while it runs. */
struct tally {
	uint64_t count;
	uint64_t unstored_count;
	uint64_t unstored_ticks;
	uint64_t loops;
};

/*
 * Spins from `now` until `end`, or until the starter moves the end; returns the last reading.
 * Makes no system call, allocates nothing, and writes only gaps.
 */
static inline __attribute__((always_inline)) uint64_t spin_until(const struct spin_config *config,
								 struct tally *tally, uint64_t now,
								 uint64_t end, bool fenced)
{
	struct spin_shared *shared = config->shared;
	const uint64_t threshold = shared->threshold_ticks;
	const uint64_t long_ticks = shared->long_ticks;
	const size_t room = config->gap_capacity, room_for_all = room - room / 4;
	struct tally t = *tally;
	while (now < end && now < READ_SHARED(shared->end_ticks)) {
		uint64_t before = now;
		now = fenced ? counter_now_fenced() : counter_now();
		t.loops++;
		if (__builtin_expect(now - before < threshold, 1))
			continue;
		if (t.count < room_for_all || (t.count < room && now - before >= long_ticks)) {
			shared->gaps[t.count].start_ticks = before;
			shared->gaps[t.count].end_ticks = now;
			t.count++;
		} else {
			t.unstored_count++;
			t.unstored_ticks += now - before;
		}
	}
	*tally = t;
	return now;
}

/* Alternates between spinning and sleeping, or what disturbs it next, until the end. */
static void spin_and_pause(const struct spin_config *config, struct tally *tally)
{
	struct spin_shared *shared = config->shared;
	struct timespec pause = timespec_of(shared->sleep_ns);
	uint64_t now = counter_now_fenced();
	shared->first_ticks = now;
	while (now < READ_SHARED(shared->end_ticks)) {
		uint64_t from = now;
		uint64_t until = shared->busy_ticks ? from + shared->busy_ticks : UINT64_MAX;
		if (config->fenced)
			now = spin_until(config, tally, now, until, true);
		else
			now = spin_until(config, tally, now, until, false);
		shared->active_ticks += now - from;
		shared->last_ticks = now;
		if (!shared->busy_ticks || now >= READ_SHARED(shared->end_ticks))
			break;
		volatile char *untouched = NULL;
		if (config->disturbance) {
			untouched = disturb__next(config->disturbance);
		} else {
			clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
			shared->sleeps++;
		}
		now = counter_now_fenced();
		if (untouched)
			*untouched = 1; /* the loop's next reading ends this gap */
	}
}

static void run_loop(const struct spin_config *config)
{
	struct spin_shared *shared = config->shared;
	const struct timespec poll = {0, POLL_NS};
	uint64_t begin;
	while (!(begin = READ_SHARED(shared->begin_ticks)))
		clock_nanosleep(CLOCK_MONOTONIC, 0, &poll, NULL);
	struct tally tally = {0};
	struct spin_usage before;
	WRITE_SHARED(shared->state, SPIN_STATE_SPINNING);
	clock_pair__read(&shared->began, CLOCK_TRIES);
	read_usage(&before);
	while (counter_now() < begin)
		;
	spin_and_pause(config, &tally);
	read_usage(&shared->usage);
	clock_pair__read(&shared->ended, CLOCK_TRIES);
	subtract_usage(&shared->usage, &before);
	shared->loops = tally.loops;
	shared->gap_count = tally.count;
	shared->unstored_count = tally.unstored_count;
	shared->unstored_ticks = tally.unstored_ticks;
}

static int fail(struct spin_shared *shared, const char *step)
{
	int err = errno;
	memcpy(shared->step, step, strlen(step));
	shared->error = err;
	WRITE_SHARED(shared->state, SPIN_STATE_FAILED);
	return -err;
}

static int set_scheduling(const struct spin_config *config)
{
	struct kernel_sched_attr attr = {
		.size = sizeof(attr),
		.policy = config->policy,
		.nice = config->nice,
		.priority = config->priority,
		.runtime = config->runtime_ns,
		.deadline = config->period_ns,
		.period = config->period_ns,
	};
	return syscall(SYS_sched_setattr, 0, &attr, 0);
}

/* Everything that could disturb the loop later happens here: page faults, migration. */
static int prepare(const struct spin_config *config)
{
	struct spin_shared *shared = config->shared;
	size_t bytes = sizeof(*shared) + config->gap_capacity * sizeof(shared->gaps[0]);
	prctl(PR_SET_NAME, config->name);
	shared->tid = syscall(SYS_gettid);
	errno = config->cpu >= 0 ? -affinity__pin(config->cpu) : 0;
	if (errno)
		return fail(shared, "bind");
	memset(shared->gaps, 0, config->gap_capacity * sizeof(shared->gaps[0]));
	mlock(shared, bytes); /* not allowed to everybody, and the pages are there already */
	for (int tries = 0; tries < WARM_UP_TRIES && !shared->loop_ticks; tries++)
		measure_loop(shared, config->fenced);
	if (!shared->loop_ticks) {
		errno = ERANGE;
		return fail(shared, "counter");
	}
	if (config->schedule && set_scheduling(config))
		return fail(shared, "priority");
	errno = config->disturbance ? -disturb__start(config->disturbance, config->cpu) : 0;
	return errno ? fail(shared, "disturb") : 0;
}

static void *spin_thread(void *argument)
{
	const struct spin_config *config = argument;
	if (prepare(config))
		return NULL;
	WRITE_SHARED(config->shared->state, SPIN_STATE_READY);
	run_loop(config);
	WRITE_SHARED(config->shared->state, SPIN_STATE_DONE);
	return NULL;
}

static void __attribute__((noreturn)) run_threads(const struct spin_config *configs, size_t count)
{
	pthread_t threads[NOISE_MAX_CPUS];
	for (size_t i = 1; i < count; i++) {
		errno = pthread_create(&threads[i], NULL, spin_thread, (void *)&configs[i]);
		if (errno) {
			fail(configs[i].shared, "thread");
			_exit(1);
		}
	}
	spin_thread((void *)&configs[0]);
	for (size_t i = 1; i < count; i++)
		pthread_join(threads[i], NULL);
	_exit(0);
}

pid_t spin__start(const struct spin_config *configs, size_t count, pid_t group)
{
	pid_t starter = getpid();
	sigset_t all, before;
	sigfillset(&all);
	/* Blocked around the fork, so that no handler of the starter's ever runs in the child. */
	pthread_sigmask(SIG_BLOCK, &all, &before);
	pid_t pid = fork();
	int err = errno;
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != starter || setpgid(0, group))
			_exit(1);
		run_threads(configs, count);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (pid < 0)
		return -err;
	setpgid(pid, group); /* also here: whoever is first */
	return pid;
}
