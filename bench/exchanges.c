// SPDX-License-Identifier: Apache-2.0
/*
 * A program that sends something and gets it back, over and over; to be started on one CPU. Takes one
 * order per line from stdin,
 *
 *     <datagram|timer|pipe> <blocks> <round trips>
 *
 * and answers each on stdout with that many doubles: ns that a round trip took, the mean of so many
 * in a block. A datagram goes to the socket that it came from and raises one softirq, which is
 * served before send() returns. A timer is armed for a moment that has passed, and its interrupt
 * runs at once: no host can hold it back. Through the pipes a byte goes to another thread and back:
 * two wake-ups, two switches. It runs at a real-time priority, above the threads of tools, so that
 * no other task runs in between; where it may not have one, others may preempt it. It sleeps between
 * orders, and what the kernel's limit on real-time tasks takes from it lies in one block.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "clock.h"

#define MOST_BLOCKS 8192
#define PRIORITY 50

static int own_socket, timer, there[2], back[2]; /* the pipes: to the other thread, and from it */

static void die(const char *step)
{
	fprintf(stderr, "exchanges: %s: %s\n", step, strerror(errno));
	exit(1);
}

static void open_socket(void)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t size = sizeof(address);
	own_socket = socket(AF_INET, SOCK_DGRAM, 0);
	if (own_socket < 0 || bind(own_socket, (void *)&address, size) ||
	    getsockname(own_socket, (void *)&address, &size) ||
	    connect(own_socket, (void *)&address, size))
		die("socket");
}

static void open_timer(void)
{
	timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
	if (timer < 0)
		die("timerfd");
}

static void *answer(void *nothing)
{
	char content;
	while (read(there[0], &content, 1) == 1 && write(back[1], &content, 1) == 1)
		;
	return nothing;
}

static void open_pipes(void)
{
	pthread_t thread;
	if (pipe(there) || pipe(back) || pthread_create(&thread, NULL, answer, NULL))
		die("pipe");
}

static void exchange_datagram(void)
{
	char content[8] = {0};
	if (send(own_socket, content, sizeof(content), 0) < 0 ||
	    recv(own_socket, content, sizeof(content), 0) < 0)
		die("send");
}

static void exchange_timer(void)
{
	const struct itimerspec past = {.it_value.tv_nsec = 1};
	uint64_t expired;
	if (timerfd_settime(timer, TFD_TIMER_ABSTIME, &past, NULL))
		die("timerfd_settime");
	while (read(timer, &expired, sizeof(expired)) < 0)
		if (errno != EAGAIN)
			die("timerfd");
}

static void exchange_byte(void)
{
	char content = 0;
	if (write(there[1], &content, 1) != 1 || read(back[0], &content, 1) != 1)
		die("write");
}

/* By its first letter. */
static void (*exchange_of(const char *kind))(void)
{
	if (*kind == 't')
		return exchange_timer;
	return *kind == 'd' ? exchange_datagram : exchange_byte;
}

static double block(void (*exchange)(void), unsigned int round_trips)
{
	uint64_t start_ns = clock_ns();
	for (unsigned int i = 0; i < round_trips; i++)
		exchange();
	return (double)(clock_ns() - start_ns) / round_trips;
}

int main(void)
{
	struct sched_param first = {.sched_priority = PRIORITY};
	static double took_ns[MOST_BLOCKS];
	unsigned int blocks, round_trips;
	char kind[16];
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sched_setscheduler(0, SCHED_FIFO, &first); /* threads inherit it */
	open_socket();
	open_timer();
	open_pipes();
	while (scanf("%15s %u %u", kind, &blocks, &round_trips) == 3 && blocks <= MOST_BLOCKS) {
		for (unsigned int i = 0; i < blocks; i++)
			took_ns[i] = block(exchange_of(kind), round_trips);
		if (fwrite(took_ns, sizeof(*took_ns), blocks, stdout) != blocks || fflush(stdout))
			return 1;
	}
	return 0;
}
