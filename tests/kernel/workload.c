// SPDX-License-Identifier: Apache-2.0
/*
 * Makes one kind of noise on purpose, at a steady rate, for at most a minute.
 * usage: workload KIND VICTIM_CPU SENDER_CPU PER_SECOND (0: as fast as it goes)
 */
#define _GNU_SOURCE
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NSEC_PER_SEC 1000000000L
#define PAGES 4

static void pin(int cpu)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set)) {
		perror("sched_setaffinity");
		exit(1);
	}
}

static void *spin(void *cpu)
{
	pin((int)(long)cpu);
	for (volatile unsigned long turns = 0;; turns++)
		;
	return NULL;
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

static const struct {
	const char *name;
	void (*act)(void);
} kinds[] = {
	{"membarrier", membarrier},
	{"munmap", unmap},
	{"mprotect", protect},
	{"spin", nothing},
};

int main(int argc, char **argv)
{
	if (argc != 5)
		return 2;
	void (*act)(void) = NULL;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(kinds[i].name, argv[1]))
			act = kinds[i].act;
	if (!act)
		return 2;
	alarm(60);
	syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
	pthread_t victim;
	pthread_create(&victim, NULL, spin, (void *)atol(argv[2]));
	pin(atoi(argv[3]));
	puts("ready");
	fflush(stdout);
	while (!atol(argv[4]))
		act();
	struct timespec next;
	clock_gettime(CLOCK_MONOTONIC, &next);
	for (;;) {
		act();
		next.tv_nsec += NSEC_PER_SEC / atol(argv[4]);
		next.tv_sec += next.tv_nsec / NSEC_PER_SEC;
		next.tv_nsec %= NSEC_PER_SEC;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
	}
}
