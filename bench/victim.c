// SPDX-License-Identifier: Apache-2.0
/*
 * The victim: one thread spins on the watched CPU and writes down every gap in the time-stamp
 * counter, another one disturbs it from a second CPU. Takes one order per line from stdin,
 *
 *     <quiet|ipi|timer> <per second> <milliseconds> <lines walked per look>
 *
 * and answers each on stdout with struct answer, that many gaps in ns (u32): those that a
 * disturbance hit, or all of them under a quiet load; and as many lengths of the calls that sent
 * IPIs which hit (u32, ns). The thread only spins while an order is
 * carried out.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define MAX_GAPS (1u << 19)
/* Below lies what the hypervisor and the memory do now and then. */
#define SMALLEST_GAP_NS 2000
#define WARM_UP_NS 10000000
#define WALK_BYTES (32u << 20) /* beyond the second-level cache of any CPU of today */
#define LINE_BYTES 64
#define SLEEPER_STACK_BYTES (64u << 10)
#define SHORTEST_SLEEP_NS 300000
#define BACKLOG_NS 20000000
#define EARLIEST_NS 10000 /* so that a timer does not expire while it is still being armed */
#define OVERDUE_NS 100000

struct answer {
	uint64_t gaps;       /* that follow */
	uint64_t all_gaps;   /* that there were, whatever made them */
	uint64_t sent;       /* disturbances in the period that the gaps come from */
	uint64_t hit_in_all; /* those that hit the victim, its warm-up included */
	uint64_t spun_ns;    /* length of the period */
};

struct stretch {
	uint64_t start; /* in ticks */
	uint64_t end;
};

enum kind { QUIET, IPI, TIMER };

struct order {
	char kind[8];
	unsigned int per_second;
	unsigned int milliseconds;
	unsigned int lines;
};

static double ns_per_tick;
static struct stretch *gaps;  /* the victim writes them */
static struct stretch *calls; /* the disturber writes them: when it asked, when it was answered */
static uint32_t *reported;
static uint32_t *paid; /* what each call took its sender */
static unsigned char *walk;
/* A disturber that first gets its CPU when all is over must notice that, or it waits for ever. */
enum phase { NOT_YET, SPINNING, OVER };
static atomic_int phase;
static atomic_ullong sent;

static inline uint64_t ticks(void)
{
#ifdef __x86_64__
	unsigned int cpu;
	return __builtin_ia32_rdtscp(&cpu);
#else
	uint64_t count;
	__asm__ volatile("isb; mrs %0, cntvct_el0" : "=r"(count));
	return count;
#endif
}

static uint64_t clock_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

static void die(const char *step)
{
	fprintf(stderr, "victim: %s: %s\n", step, strerror(errno));
	exit(1);
}

static void pin(int cpu)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("sched_setaffinity");
}

static void calibrate(void)
{
	uint64_t start_ns = clock_ns(), start = ticks();
	while (clock_ns() - start_ns < 50000000)
		;
	ns_per_tick = (double)(clock_ns() - start_ns) / (double)(ticks() - start);
}

/*
 * Sends IPIs for as long as the victim spins, so many a second: what came late, as this CPU had
 * other things to do, is made up for, but not what it cannot do at all.
 */
static void *disturb(void *argument)
{
	const struct order *order = argument;
	uint64_t period = 1e9 / order->per_second / ns_per_tick;
	uint64_t period_ns = 1000000000ull / order->per_second;
	uint64_t backlog = BACKLOG_NS / ns_per_tick;
	while (atomic_load(&phase) == NOT_YET)
		sched_yield();
	uint64_t next = ticks();
	while (atomic_load_explicit(&phase, memory_order_relaxed) == SPINNING) {
		uint64_t asked = ticks();
		syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
		uint64_t number = atomic_load_explicit(&sent, memory_order_relaxed);
		calls[number % MAX_GAPS] = (struct stretch){asked, ticks()};
		atomic_store_explicit(&sent, number + 1, memory_order_release);
		next += period;
		uint64_t now = ticks();
		if (next + backlog < now)
			next = now - backlog;
		if (period_ns > SHORTEST_SLEEP_NS) {
			struct timespec nap = {.tv_nsec = period_ns / 2};
			nanosleep(&nap, NULL);
		}
		while (ticks() < next)
			;
	}
	return NULL;
}

/*
 * Asks for a timer interrupt on this CPU one period after the last one, or at once where that has
 * passed; returns when that is.
 */
static uint64_t arm(int timer, unsigned int per_second, uint64_t last_due)
{
	uint64_t now = ticks(), due = last_due + 1e9 / per_second / ns_per_tick;
	uint64_t earliest = now + EARLIEST_NS / ns_per_tick;
	if (due < earliest)
		due = earliest;
	struct itimerspec spec = {.it_value.tv_nsec = (due - now) * ns_per_tick};
	timerfd_settime(timer, 0, &spec, NULL);
	uint64_t number = atomic_load_explicit(&sent, memory_order_relaxed);
	calls[number % MAX_GAPS] = (struct stretch){due, due};
	atomic_store_explicit(&sent, number + 1, memory_order_relaxed);
	return due;
}

/* Spins for a while; returns the number of gaps. timer < 0: none is armed. */
static uint64_t spin(const struct order *order, int timer, uint64_t length_ns)
{
	uint64_t smallest = SMALLEST_GAP_NS / ns_per_tick;
	uint64_t end = ticks() + length_ns / ns_per_tick;
	uint64_t overdue = OVERDUE_NS / ns_per_tick;
	uint64_t found = 0, place = 0;
	uint64_t due = timer >= 0 ? arm(timer, order->per_second, ticks()) : UINT64_MAX;
	uint64_t last = ticks();
	for (;;) {
		for (unsigned int line = 0; line < order->lines; line++) {
			(void)*(volatile unsigned char *)&walk[place];
			place = (place + LINE_BYTES) & (WALK_BYTES - 1);
		}
		uint64_t now = ticks();
		if (now - last > smallest && found < MAX_GAPS) {
			gaps[found++] = (struct stretch){last, now};
			if (now > due)
				due = arm(timer, order->per_second, due);
			now = ticks();
		} else if (timer >= 0 && now > due + overdue) {
			due = arm(timer, order->per_second, due);
			now = ticks();
		}
		if (now >= end)
			return found;
		last = now;
	}
}

static uint32_t length_ns(const struct stretch *stretch)
{
	double ns = (stretch->end - stretch->start) * ns_per_tick;
	return ns > UINT32_MAX ? UINT32_MAX : ns;
}

/*
 * Picks the gaps that a disturbance hit: an IPI comes while its sender waits for the answer, a
 * timer is due before its gap ends and has not come in an earlier one. A sender's call that no gap
 * answers sent no IPI, as the victim was not running.
 */
static void report(struct answer *answer, uint64_t found, uint64_t begin, enum kind kind)
{
	uint64_t call = 0, calls_made = atomic_load_explicit(&sent, memory_order_acquire);
	for (uint64_t i = 0; i < found; i++) {
		const struct stretch *gap = &gaps[i];
		bool hit = kind == QUIET;
		while (kind != QUIET && !hit && call < calls_made) {
			const struct stretch *next = &calls[call % MAX_GAPS];
			if (kind == TIMER ? next->end >= gap->end : next->start > gap->start)
				break;
			hit = kind == TIMER || gap->start <= next->end;
			answer->sent += next->start >= begin;
			call++;
		}
		answer->hit_in_all += hit;
		answer->all_gaps += gap->start >= begin;
		if (hit && gap->start >= begin) {
			const struct stretch *last = &calls[(call ? call - 1 : 0) % MAX_GAPS];
			reported[answer->gaps] = length_ns(gap);
			paid[answer->gaps++] = length_ns(last);
		}
	}
}

static pthread_t start_disturber(const struct order *order, int cpu)
{
	pthread_t thread;
	pthread_attr_t attributes;
	struct sched_param ordinary = {0};
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	pthread_attr_init(&attributes);
	pthread_attr_setaffinity_np(&attributes, sizeof(set), &set);
	/* Not the victim's policy: the tools' readers share this CPU with it. */
	pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attributes, SCHED_OTHER);
	pthread_attr_setschedparam(&attributes, &ordinary);
	errno = pthread_create(&thread, &attributes, disturb, (void *)order);
	if (errno)
		die("pthread_create");
	return thread;
}

static void *sleep_for_ever(void *argument)
{
	for (;;)
		pause();
	return argument;
}

/* Threads that make the process larger and do nothing else. */
static void start_sleepers(int count)
{
	pthread_t thread;
	pthread_attr_t attributes;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, SLEEPER_STACK_BYTES);
	for (int i = 0; i < count; i++) {
		errno = pthread_create(&thread, &attributes, sleep_for_ever, NULL);
		if (errno)
			die("pthread_create");
	}
}

/* Without the privilege other tasks may preempt the victim; long gaps come from that. */
static void be_first(bool wanted)
{
	struct sched_param param = {.sched_priority = wanted ? 1 : 0};
	sched_setscheduler(0, wanted ? SCHED_FIFO : SCHED_OTHER, &param);
}

static enum kind kind_of(const char *name)
{
	if (!strcmp(name, "ipi"))
		return IPI;
	return strcmp(name, "timer") ? QUIET : TIMER;
}

static void carry_out(const struct order *order, int disturber_cpu)
{
	struct answer answer = {0};
	enum kind kind = kind_of(order->kind);
	int timer = -1;
	pthread_t disturber;
	atomic_store(&sent, 0);
	atomic_store(&phase, NOT_YET);
	if (kind == TIMER)
		timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
	if (kind == IPI)
		disturber = start_disturber(order, disturber_cpu);
	be_first(true);
	atomic_store(&phase, SPINNING);
	answer.spun_ns = order->milliseconds * 1000000ull;
	uint64_t begin = ticks() + WARM_UP_NS / ns_per_tick;
	uint64_t found = spin(order, timer, WARM_UP_NS + answer.spun_ns);
	atomic_store(&phase, OVER);
	be_first(false);
	if (kind == IPI)
		pthread_join(disturber, NULL);
	if (timer >= 0)
		close(timer);
	report(&answer, found, begin, kind);
	if (fwrite(&answer, sizeof(answer), 1, stdout) != 1 ||
	    fwrite(reported, sizeof(*reported), answer.gaps, stdout) != answer.gaps ||
	    fwrite(paid, sizeof(*paid), answer.gaps, stdout) != answer.gaps ||
	    fflush(stdout))
		die("write");
}

/* Zeroed memory that is in place already; in huge pages where there are some, so that a walk
 * through it empties the caches but does not spend its time on page tables. */
static void *pages(size_t bytes)
{
	void *start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (start == MAP_FAILED)
		die("mmap");
	madvise(start, bytes, MADV_HUGEPAGE);
	memset(start, 0, bytes);
	return start;
}

int main(int argc, char **argv)
{
	char line[128];
	if (argc < 3) {
		fprintf(stderr, "usage: victim CPU DISTURBER_CPU [SLEEPING_THREADS]\n");
		return 2;
	}
	if (argc > 3)
		start_sleepers(atoi(argv[3]));
	gaps = pages(MAX_GAPS * sizeof(*gaps));
	calls = pages(MAX_GAPS * sizeof(*calls));
	reported = pages(MAX_GAPS * sizeof(*reported));
	paid = pages(MAX_GAPS * sizeof(*paid));
	walk = pages(WALK_BYTES);
	prctl(PR_SET_TIMERSLACK, 1);
	pin(atoi(argv[1]));
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0))
		die("membarrier");
	calibrate();
	while (fgets(line, sizeof(line), stdin)) {
		struct order order;
		if (sscanf(line, "%7s %u %u %u", order.kind, &order.per_second, &order.milliseconds,
			   &order.lines) != 4 ||
		    !order.per_second) {
			errno = EINVAL;
			die("order");
		}
		carry_out(&order, atoi(argv[2]));
	}
	return 0;
}
