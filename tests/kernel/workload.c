// SPDX-License-Identifier: Apache-2.0
/*
 * Makes noise on purpose for a thread that spins, for at most a minute.
 * usage: workload VICTIM_CPU[/REST_US] SENDER_CPU KIND:PER_SECOND:COUNT...
 *
 * Each KIND is a thread of that name, on the CPU that the table says; -1 binds to none. PER_SECOND
 * is 0 where the act itself takes its time, COUNT is 0 for ever. Writes the name and tid of each thread
 * and "ready", waits for a line, acts, writes "done". All threads sleep before and after that.
 * With REST_US the victim spins for a millisecond and sleeps for so long, in turns.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define NSEC_PER_SEC 1000000000L
#define LIFETIME_S 240 /* longer than any test waits for something */
#define PAGES 4
#define ACTORS 64
#define DELAY_NS 300000
#define BURST_NS 100000
#define OFTEN_NS 50000
#define SHIFT_NS 45000000
#define REST_NS 5000000
#define SPELL_NS 1000000
#define QUIET_NS 2000000
#define ALARMS 64
#define TOUCHED 256
#define DRAWS 15
#define REFILL_NS 105000000
#define STREAMS 16
#define STREAM_PER_SECOND 1000000
#define SEGMENT 500

static int victim_cpu, sender_cpu;
static long rest_ns;
static atomic_bool over, realtime_victim;
static atomic_uint acts;
static pthread_barrier_t begin, end;

static void check(bool good, const char *what)
{
	if (good)
		return;
	perror(what);
	exit(1);
}

static void pin(int cpu)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (cpu >= 0)
		check(!sched_setaffinity(0, sizeof(set), &set), "sched_setaffinity");
}

/* Keeps the CPU busy for so long as this thread has it. */
static void burn(long ns)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	long until = now.tv_sec * NSEC_PER_SEC + now.tv_nsec + ns;
	while (now.tv_sec * NSEC_PER_SEC + now.tv_nsec < until)
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
}

static void acted(void)
{
	acts++;
	if (realtime_victim)
		syscall(SYS_futex, &acts, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void membarrier(void)
{
	syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
}

static void unmap(void)
{
	size_t bytes = PAGES * sysconf(_SC_PAGESIZE);
	char *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(pages, 1, bytes);
	munmap(pages, bytes);
}

/* More than malloc ever keeps for later by itself: 32 MiB, DEFAULT_MMAP_THRESHOLD_MAX. */
static void allocate(void)
{
	size_t bytes = 36 << 20;
	char *memory = malloc(bytes);
	check(memory, "malloc");
	for (int i = 0; i < PAGES; i++)
		((volatile char *)memory)[i * sysconf(_SC_PAGESIZE)] = 1;
	free(memory);
}

/* Memory that is dropped and touched again; where it is locked, it stays. */
static void touch(void)
{
	static char *pages;
	size_t page = sysconf(_SC_PAGESIZE), bytes = TOUCHED * page;
	if (!pages)
		pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			     0);
	madvise(pages, bytes, MADV_DONTNEED);
	for (size_t at = 0; at < bytes; at += page)
		pages[at] = 1;
}

static void touch_locked(void)
{
	check(!mlockall(MCL_CURRENT | MCL_FUTURE), "mlockall");
	touch();
}

static void protect(void)
{
	static char *pages;
	static int writable;
	size_t bytes = PAGES * sysconf(_SC_PAGESIZE);
	if (!pages)
		pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			     0);
	if (writable)
		memset(pages, 1, bytes);
	mprotect(pages, bytes, writable ? PROT_READ : PROT_READ | PROT_WRITE);
	writable = !writable;
}

static void nothing(void)
{
}

/* Opens and closes in turn, so that the key has flipped before it flips back. */
static void timestamp(void)
{
	static int fd = -1;
	if (fd < 0) {
		int on = 1;
		fd = socket(AF_INET, SOCK_DGRAM, 0);
		check(!setsockopt(fd, SOL_SOCKET, SO_TIMESTAMP, &on, sizeof(on)), "SO_TIMESTAMP");
	} else {
		close(fd);
		fd = -1;
	}
}

static void expire_timerfd(void)
{
	static __thread int fd;
	struct itimerspec once = {.it_value.tv_nsec = DELAY_NS};
	unsigned long expirations;
	if (!fd)
		fd = timerfd_create(CLOCK_MONOTONIC, 0);
	timerfd_settime(fd, 0, &once, NULL);
	check(read(fd, &expirations, sizeof(expirations)) > 0, "timerfd");
}

static void expire_posix_timer(void)
{
	static __thread timer_t timer;
	static __thread bool made;
	struct itimerspec once = {.it_value.tv_nsec = DELAY_NS};
	sigset_t signals;
	sigemptyset(&signals);
	sigaddset(&signals, SIGRTMIN);
	if (!made) {
		struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN};
		event._sigev_un._tid = gettid();
		pthread_sigmask(SIG_BLOCK, &signals, NULL);
		check(!timer_create(CLOCK_MONOTONIC, &event, &timer), "timer_create");
		made = true;
	}
	timer_settime(timer, 0, &once, NULL);
	check(sigwaitinfo(&signals, NULL) == SIGRTMIN, "sigwaitinfo");
}

/* Arms a timer of the CPU time of the whole process that does not expire: somebody has to look. */
static void arm_cpu_timer(void)
{
	struct itimerval later = {.it_value.tv_sec = 50};
	check(!setitimer(ITIMER_PROF, &later, NULL), "setitimer");
}

/* Timers that nobody is woken for: their signal is blocked, and pending at most once. */
static void expire_alarms(void)
{
	static timer_t timers[ALARMS];
	static bool made;
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN};
	sigset_t signals;
	event._sigev_un._tid = gettid();
	sigemptyset(&signals);
	sigaddset(&signals, SIGRTMIN);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	for (int i = 0; i < ALARMS; i++) {
		struct itimerspec once = {.it_value.tv_nsec = (i + 2) * OFTEN_NS};
		if (!made)
			check(!timer_create(CLOCK_MONOTONIC, &event, &timers[i]), "timer_create");
		check(!timer_settime(timers[i], 0, &once, NULL), "timer_settime");
	}
	made = true;
}

/* An interrupt each. A device with a limit has some to give at once after a while. */
static void draw_random(void)
{
	static int fd = -1;
	char random[64];
	if (fd < 0)
		fd = open("/dev/hwrng", O_RDONLY);
	nanosleep(&(struct timespec){.tv_nsec = REFILL_NS}, NULL);
	acted(); /* the victim is to be there when they come */
	nanosleep(&(struct timespec){.tv_nsec = QUIET_NS / 2}, NULL);
	for (int i = 0; i < DRAWS; i++) {
		check(read(fd, random, sizeof(random)) > 0, "hwrng");
		acted();
	}
}

static void expire_nanosleep(void)
{
	nanosleep(&(struct timespec){.tv_nsec = DELAY_NS}, NULL);
}

static void expire_futex(void)
{
	static unsigned int word;
	struct timespec delay = {.tv_nsec = DELAY_NS};
	syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &delay, NULL, 0);
}

/* Queues a work item on every CPU and waits for all of them. */
static void refresh_statistics(void)
{
	int fd = open("/proc/sys/vm/stat_refresh", O_WRONLY);
	check(fd >= 0 && write(fd, "1\n", 2) == 2, "stat_refresh");
	close(fd);
}

static void *urgent(void *doorbell)
{
	struct sched_param param = {.sched_priority = 10};
	eventfd_t rings;
	pin(victim_cpu);
	prctl(PR_SET_NAME, "urgent");
	check(!sched_setscheduler(0, SCHED_FIFO, &param), "SCHED_FIFO");
	for (;;) {
		eventfd_read((int)(long)doorbell, &rings);
		burn(BURST_NS);
	}
	return NULL;
}

static void wake_urgent(void)
{
	static int doorbell;
	pthread_t thread;
	if (!doorbell) {
		doorbell = eventfd(0, 0);
		pthread_create(&thread, NULL, urgent, (void *)(long)doorbell);
	}
	eventfd_write(doorbell, 1);
}

static void flood(void)
{
	static int fd;
	struct sockaddr_in here = {.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(here);
	char packet[64] = {0};
	if (!fd) {
		fd = socket(AF_INET, SOCK_DGRAM, 0);
		check(!bind(fd, (void *)&here, length), "bind");
		check(!getsockname(fd, (void *)&here, &length), "getsockname");
		check(!connect(fd, (void *)&here, length), "connect");
	}
	check(send(fd, packet, sizeof(packet), 0) > 0, "send");
	recv(fd, packet, sizeof(packet), MSG_DONTWAIT);
}

/* Both ends of a connection that the kernel paces by a timer, which is one of the softirq. */
static void open_stream(int *ends)
{
	struct sockaddr_in here = {.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(here);
	int listener = socket(AF_INET, SOCK_STREAM, 0), segment = SEGMENT;
	unsigned int rate = STREAM_PER_SECOND;
	check(!bind(listener, (void *)&here, length) && !listen(listener, 1), "listen");
	check(!getsockname(listener, (void *)&here, &length), "getsockname");
	ends[0] = socket(AF_INET, SOCK_STREAM, 0);
	setsockopt(ends[0], IPPROTO_TCP, TCP_MAXSEG, &segment, sizeof(segment));
	setsockopt(ends[0], SOL_SOCKET, SO_MAX_PACING_RATE, &rate, sizeof(rate));
	check(!connect(ends[0], (void *)&here, length), "connect");
	ends[1] = accept(listener, NULL, NULL);
	check(ends[1] >= 0, "accept");
	close(listener);
}

static void fill_streams(void)
{
	static int streams[STREAMS][2];
	static char bytes[8 * SEGMENT];
	for (size_t i = 0; i < STREAMS; i++) {
		if (!streams[i][0])
			open_stream(streams[i]);
		send(streams[i][0], bytes, sizeof(bytes), MSG_DONTWAIT);
		while (recv(streams[i][1], bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
			;
	}
}

static void compete(void)
{
	burn(BURST_NS);
}

static void *newborn(void *unused)
{
	(void)unused;
	pin(victim_cpu);
	dprintf(STDOUT_FILENO, "born %d\n", gettid());
	burn(BURST_NS);
	return NULL;
}

static void give_birth(void)
{
	pthread_t thread;
	check(!pthread_create(&thread, NULL, newborn, NULL), "pthread_create");
	pthread_join(thread, NULL);
}

static const struct kind {
	const char *name; /* also the thread's */
	void (*act)(void);
	bool at_victim;
} kinds[] = {
	{"membarrier", membarrier, false},
	{"munmap", unmap, false},
	{"malloc", allocate, false},
	{"mprotect", protect, false},
	{"spin", nothing, false},
	{"timestamp", timestamp, false},
	{"timerfd", expire_timerfd, true},
	{"posix-timer", expire_posix_timer, true},
	{"cpu-timer", arm_cpu_timer, false},
	{"alarm", expire_alarms, true},
	{"touch", touch, true},
	{"touch-locked", touch_locked, true},
	{"nanosleep", expire_nanosleep, true},
	{"futex", expire_futex, true},
	{"random", draw_random, false},
	{"stat-refresh", refresh_statistics, false},
	{"wake-urgent", wake_urgent, false},
	{"flood", flood, true},
	{"send", flood, false},
	{"paced-streams", fill_streams, true},
	{"compete", compete, true},
	{"give-birth", give_birth, false},
};

static struct actor {
	const struct kind *kind;
	long per_second;
	long count;
	pid_t tid;
} actors[ACTORS], victim_actor;

static void tell(struct actor *actor, const char *name)
{
	actor->tid = gettid();
	prctl(PR_SET_NAME, name);
	dprintf(STDOUT_FILENO, "thread %s %d\n", name, actor->tid);
	pthread_barrier_wait(&begin); /* all have told */
	pthread_barrier_wait(&begin); /* off they go */
}

static long now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NSEC_PER_SEC + now.tv_nsec;
}

/*
 * A real-time victim is there while the others act, and gives up the CPU now and then: else the
 * kernel takes it for normal tasks, and that is noise.
 */
static void attend(void)
{
	for (long until = now_ns() + SHIFT_NS; now_ns() < until;) {
		unsigned int seen = acts;
		long quiet = now_ns() + QUIET_NS;
		while (acts == seen && now_ns() < quiet)
			;
		if (acts != seen)
			continue;
		syscall(SYS_futex, &acts, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
		until = now_ns() + SHIFT_NS;
	}
	nanosleep(&(struct timespec){.tv_nsec = REST_NS}, NULL);
}

static void spin_and_rest(void)
{
	for (long until = now_ns() + SPELL_NS; now_ns() < until;)
		;
	nanosleep(&(struct timespec){.tv_nsec = rest_ns}, NULL);
}

static void *suffer(void *unused)
{
	(void)unused;
	pin(victim_cpu);
	tell(&victim_actor, "victim");
	realtime_victim = sched_getscheduler(0) == SCHED_FIFO;
	while (!over)
		if (realtime_victim)
			attend();
		else if (rest_ns)
			spin_and_rest();
	for (;;)
		pause();
	return NULL;
}

static void pace(struct timespec *next, long per_second)
{
	next->tv_nsec += NSEC_PER_SEC / per_second;
	next->tv_sec += next->tv_nsec / NSEC_PER_SEC;
	next->tv_nsec %= NSEC_PER_SEC;
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, next, NULL);
}

static void *act(void *argument)
{
	struct actor *actor = argument;
	struct timespec next;
	pin(actor->kind->at_victim ? victim_cpu : sender_cpu);
	tell(actor, actor->kind->name);
	clock_gettime(CLOCK_MONOTONIC, &next);
	for (long done = 0; !actor->count || done < actor->count; done++) {
		actor->kind->act();
		acted();
		if (actor->per_second)
			pace(&next, actor->per_second);
	}
	pthread_barrier_wait(&end);
	for (;;)
		pause();
	return NULL;
}

static bool parse(struct actor *actor, const char *text)
{
	char name[16];
	if (sscanf(text, "%15[^:]:%ld:%ld", name, &actor->per_second, &actor->count) != 3)
		return false;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(kinds[i].name, name))
			actor->kind = &kinds[i];
	return actor->kind;
}

int main(int argc, char **argv)
{
	int count = argc - 3;
	char line[16];
	pthread_t thread;
	if (count < 1 || count > ACTORS)
		return 2;
	if (sscanf(argv[1], "%d/%ld", &victim_cpu, &rest_ns) == 2)
		rest_ns *= 1000;
	sender_cpu = atoi(argv[2]);
	alarm(LIFETIME_S);
	syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
	syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0);
	pthread_barrier_init(&begin, NULL, count + 2);
	pthread_barrier_init(&end, NULL, count + 1);
	for (int i = 0; i < count; i++)
		if (!parse(&actors[i], argv[i + 3]))
			return 2;
	for (int i = 0; i < count; i++)
		pthread_create(&thread, NULL, act, &actors[i]);
	pthread_create(&thread, NULL, suffer, NULL);
	pin(sender_cpu);
	pthread_barrier_wait(&begin);
	dprintf(STDOUT_FILENO, "ready\n");
	check(read(STDIN_FILENO, line, sizeof(line)) > 0, "read");
	pthread_barrier_wait(&begin);
	pthread_barrier_wait(&end);
	over = true;
	dprintf(STDOUT_FILENO, "done\n");
	for (;;)
		pause();
}
