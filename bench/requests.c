// SPDX-License-Identifier: Apache-2.0
/*
 * usage: requests PORT: fifty clients of a redis server on this machine, in one thread. Each asks
 * for a key, and again when it reads the answer. Takes one order per line from stdin, a number of
 * blocks, and answers each on stdout with that many doubles: ns per request, the mean of a block.
 * Between orders no answer is read, so the server is idle.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"

#define CLIENTS 50
#define MOST_BLOCKS 65536
#define REQUESTS 200 /* of a block: shorter than what the host takes at a time */

static const char request[] = "*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n";

static void die(const char *step)
{
	fprintf(stderr, "requests: %s: %s\n", step, strerror(errno));
	exit(1);
}

static void ask(int client)
{
	if (write(client, request, sizeof(request) - 1) != sizeof(request) - 1)
		die("write");
}

static void connect_client(int events, int port)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int client = socket(AF_INET, SOCK_STREAM, 0), on = 1;
	struct epoll_event event = {.events = EPOLLIN, .data.fd = client};
	if (client < 0 || connect(client, (void *)&address, sizeof(address)) ||
	    setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) ||
	    epoll_ctl(events, EPOLL_CTL_ADD, client, &event))
		die("connect");
	ask(client);
}

/* Serves the clients that have an answer; how many did. */
static int serve(int events)
{
	struct epoll_event ready[CLIENTS];
	char reply[256];
	int count = epoll_wait(events, ready, CLIENTS, -1);
	for (int i = 0; i < count; i++) {
		if (read(ready[i].data.fd, reply, sizeof(reply)) <= 0)
			die("read");
		ask(ready[i].data.fd);
	}
	return count;
}

static double block(int events)
{
	uint64_t start_ns = clock_ns();
	int served = 0;
	while (served < REQUESTS)
		served += serve(events);
	return (double)(clock_ns() - start_ns) / served;
}

int main(int argc, char **argv)
{
	static double took_ns[MOST_BLOCKS];
	unsigned int blocks;
	int events = epoll_create1(0);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int i = 0; i < CLIENTS; i++)
		connect_client(events, argc > 1 ? atoi(argv[1]) : 0);
	while (events >= 0 && scanf("%u", &blocks) == 1 && blocks <= MOST_BLOCKS) {
		for (unsigned int i = 0; i < blocks; i++)
			took_ns[i] = block(events);
		if (fwrite(took_ns, sizeof(*took_ns), blocks, stdout) != blocks || fflush(stdout))
			return 1;
	}
	return 0;
}
