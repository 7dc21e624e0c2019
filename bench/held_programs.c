// SPDX-License-Identifier: Apache-2.0
/*
 * usage: held_programs PROGRAM_ID:TRACEPOINT...: holds the programs of a tool, with their maps, so
 * that the tool may end. First it writes how many programs it holds. Then it takes one order per
 * line from stdin: "on" attaches the programs, "off" detaches them. It answers each order with the
 * number of records that they have made until then. Every answer is a u64. While the programs are
 * attached it empties their rings, as a program that finds a full ring does something else.
 */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "noise.h"

#define MOST_PROGRAMS 256
#define MOST_MAPS 64
#define POLL_MS 10

struct program {
	int fd;
	int link;
	const char *tracepoint; /* NULL: the program knows it */
};

static struct program programs[MOST_PROGRAMS];
static int program_count;
static struct noise_cpu *states; /* NULL: the programs record nothing */
static const struct noise_event *records;
static size_t state_count;
static volatile uint64_t seen; /* what was read has to be used */

static void die(const char *step)
{
	fprintf(stderr, "held_programs: %s: %s\n", step, strerror(errno));
	exit(1);
}

/* The whole of a map's memory, rounded up to pages as the kernel does. */
static void *map_of(int fd, const struct bpf_map_info *info, int protection)
{
	size_t page = sysconf(_SC_PAGESIZE);
	size_t value = (info->value_size + 7) / 8 * 8;
	size_t bytes = (value * info->max_entries + page - 1) / page * page;
	void *memory = mmap(NULL, bytes, protection, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		die(info->name);
	return memory;
}

static void look_at_map(uint32_t id)
{
	struct bpf_map_info info = {0};
	uint32_t size = sizeof(info);
	int fd = bpf_map_get_fd_by_id(id);
	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &size))
		die("map");
	if (!strcmp(info.name, "noise_cpus") && !states) {
		states = map_of(fd, &info, PROT_READ | PROT_WRITE);
		state_count = (size_t)info.value_size * info.max_entries / sizeof(*states);
	} else if (!strcmp(info.name, "noise_records") && !records) {
		records = map_of(fd, &info, PROT_READ);
	}
	close(fd);
}

static void hold(char *argument)
{
	struct program *program = &programs[program_count++];
	uint32_t maps[MOST_MAPS];
	struct bpf_prog_info info = {.map_ids = (uintptr_t)maps, .nr_map_ids = MOST_MAPS};
	uint32_t size = sizeof(info);
	program->fd = bpf_prog_get_fd_by_id(strtoul(strtok(argument, ":"), NULL, 10));
	if (program->fd < 0 || bpf_obj_get_info_by_fd(program->fd, &info, &size))
		die(argument);
	if (info.type != BPF_PROG_TYPE_TRACING)
		program->tracepoint = strtok(NULL, ":");
	/* Of one with more maps the rest is not looked at: ours have fewer. */
	for (uint32_t i = 0; i < info.nr_map_ids && i < MOST_MAPS; i++)
		look_at_map(maps[i]);
}

static void attach(void)
{
	for (int i = 0; i < program_count; i++) {
		programs[i].link = bpf_raw_tracepoint_open(programs[i].tracepoint, programs[i].fd);
		if (programs[i].link < 0)
			die(programs[i].tracepoint ? programs[i].tracepoint : "attach");
	}
}

static void detach(void)
{
	for (int i = 0; i < program_count; i++)
		close(programs[i].link);
}

/* Reads the first ring of a CPU, and takes the others as read: next to nothing is in them. */
static uint64_t empty_rings(struct noise_cpu *state)
{
	uint64_t made = 0;
	for (int ring = 0; ring < NOISE_RINGS; ring++) {
		uint64_t head = __atomic_load_n(&state->rings[ring].head, __ATOMIC_ACQUIRE);
		uint64_t tail = state->tails[ring];
		made += head - tail;
		for (; !ring && records && tail < head; tail++)
			seen += records[state->first_record + (tail & state->ring_mask)].start_ns;
		__atomic_store_n(&state->tails[ring], head, __ATOMIC_RELEASE);
	}
	return made;
}

static uint64_t empty_all(void)
{
	uint64_t made = 0;
	for (size_t cpu = 0; states && cpu < state_count; cpu++)
		if (states[cpu].ring_mask)
			made += empty_rings(&states[cpu]);
	return made;
}

static void answer(uint64_t number)
{
	if (fwrite(&number, sizeof(number), 1, stdout) != 1 || fflush(stdout))
		exit(1);
}

/* Waits for the next order, and empties the rings where programs are attached; false at the end. */
static bool next_order(char *order, size_t size, bool attached, uint64_t *made)
{
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
	while (!poll(&input, 1, attached ? POLL_MS : -1))
		*made += empty_all();
	ssize_t length = read(STDIN_FILENO, order, size - 1);
	if (length <= 0)
		return false;
	order[length] = 0;
	return true;
}

int main(int argc, char **argv)
{
	struct sched_param lowest = {.sched_priority = 1};
	char order[16];
	uint64_t made = 0;
	bool attached = false;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sched_setscheduler(0, SCHED_FIFO, &lowest); /* as the reader of noisetop */
	for (int i = 1; i < argc && i <= MOST_PROGRAMS; i++)
		hold(argv[i]);
	answer(program_count);
	while (next_order(order, sizeof(order), attached, &made)) {
		attached = !strcmp(order, "on\n");
		if (!attached)
			detach();
		made += empty_all();
		if (attached)
			attach();
		answer(made);
	}
	return 0;
}
