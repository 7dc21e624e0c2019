// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "disturb.h"

#include <errno.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "affinity.h"
#include "clock.h"

#define PAGES 256
#define TIMER_STEPS 8 /* of its length over eight, so that no other load stays in step */
#define SLEEP_NS 700000
#define SHORT_NS 100000 /* waits that sleep would make longer */
#define STACK_BYTES (64u << 10)

static const struct disturbance *disturbance; /* of this process */
static int spinning_cpu;
static size_t page_bytes;
static uint32_t wakes; /* a futex */

static void begin(const char *name, int cpu)
{
	prctl(PR_SET_NAME, name);
	prctl(PR_SET_TIMERSLACK, 1);
	affinity__pin(cpu);
}

/* Ahead of the spinning thread. Without the permission it waits for its turn like all others. */
static void begin_beside_it(const char *name)
{
	const struct sched_param lowest = {.sched_priority = 1};
	begin(name, spinning_cpu);
	sched_setscheduler(0, SCHED_FIFO, &lowest);
}

static void sleep_until(uint64_t ns)
{
	const struct timespec until = timespec_of(ns);
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

static void wait_until(uint64_t ns)
{
	if (disturbance->send_ns >= SHORT_NS)
		sleep_until(ns);
	while (monotonic_ns() < ns)
		;
}

static void *sleep_again(void *unused)
{
	begin_beside_it("noisetop-sleep");
	for (uint64_t next_ns = monotonic_ns();; next_ns += SLEEP_NS)
		sleep_until(next_ns);
	return unused;
}

/* Receives nothing: that ends with a timer of the softirq, at the resolution of the tick. */
static void *time_out_again(void *unused)
{
	const struct timeval shortest = {.tv_usec = 1};
	char nothing;
	int ends[2];
	begin_beside_it("noisetop-expire");
	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends) ||
	    setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &shortest, sizeof(shortest)))
		return unused;
	while (recv(ends[0], &nothing, sizeof(nothing), 0) < 0 && errno == EAGAIN)
		;
	return unused;
}

static void *wait_again(void *unused)
{
	begin_beside_it("noisetop-wait");
	for (;;) {
		uint32_t seen = __atomic_load_n(&wakes, __ATOMIC_ACQUIRE);
		syscall(SYS_futex, &wakes, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
	}
	return unused;
}

static void *send_again(void *unused)
{
	begin("noisetop-send", disturbance->sender_cpu);
	uint64_t next_ns = monotonic_ns();
	for (uint32_t turn = 0;; turn++) {
		uint64_t now_ns = monotonic_ns();
		next_ns = (next_ns > now_ns ? next_ns : now_ns) + disturbance->send_ns;
		wait_until(next_ns);
		if (turn & 1 && disturbance->kinds & DISTURB_CALL)
			syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
		if (turn & 1 || !(disturbance->kinds & DISTURB_WAKE))
			continue;
		__atomic_add_fetch(&wakes, 1, __ATOMIC_RELEASE);
		syscall(SYS_futex, &wakes, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	}
	return unused;
}

static int start(void *(*run)(void *))
{
	pthread_t thread;
	pthread_attr_t attributes;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	return -pthread_create(&thread, &attributes, run, NULL);
}

static int start_all(uint32_t kinds)
{
	int err = 0;
	if (kinds & DISTURB_SLEEP)
		err = start(sleep_again);
	if (!err && kinds & DISTURB_TIMEOUT)
		err = start(time_out_again);
	if (!err && kinds & DISTURB_WAKE)
		err = start(wait_again);
	if (!err && kinds & (DISTURB_WAKE | DISTURB_CALL))
		err = start(send_again);
	return err;
}

int disturb__start(struct disturbance *d, int cpu)
{
	disturbance = d;
	spinning_cpu = cpu;
	page_bytes = sysconf(_SC_PAGESIZE);
	setpriority(PRIO_PROCESS, 0, -20);
	d->timer = d->kinds & DISTURB_TIMER ? timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC) : 0;
	if (d->timer < 0)
		return -errno;
	/* While it has one thread: later the kernel waits for all CPUs. Not every kernel has it. */
	if (d->kinds & DISTURB_CALL &&
	    syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0))
		d->kinds &= ~DISTURB_CALL;
	if (d->kinds & DISTURB_FAULT) {
		d->pages = mmap(NULL, PAGES * page_bytes, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (d->pages == MAP_FAILED)
			return -errno;
		madvise(d->pages, PAGES * page_bytes, MADV_NOHUGEPAGE);
	}
	return start_all(d->kinds);
}

volatile char *disturb__next(struct disturbance *d)
{
	uint64_t delay_ns = d->timer_ns + d->timer_ns * (d->slices++ % TIMER_STEPS) / TIMER_STEPS;
	const struct itimerspec once = {.it_value = timespec_of(delay_ns)};
	if (d->kinds & DISTURB_TIMER)
		timerfd_settime(d->timer, 0, &once, NULL);
	if (!d->pages)
		return NULL;
	if (d->touched == PAGES) {
		madvise(d->pages, PAGES * page_bytes, MADV_DONTNEED);
		d->touched = 0;
	}
	return &d->pages[page_bytes * d->touched++];
}
