// SPDX-License-Identifier: Apache-2.0
/*
 * Page faults come from software events of perf, which are opened on each watched CPU. With a fixed
 * period of 1 they need neither a timer nor the tick.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "tracer.h"
#include "noisetop.skel.h"

#define FAULT_EVENTS 3
#define PARKED_FAULTS 16384 /* tasks that sleep in a fault at one moment, 2 MiB */

static int open_event(uint64_t kind, uint32_t cpu)
{
	struct perf_event_attr attributes = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attributes),
		.config = kind,
		.sample_period = 1,
	};
	int fd = syscall(SYS_perf_event_open, &attributes, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int fault__configure(struct tracer *t)
{
	struct noisetop_bpf *skeleton = t->skeleton;
	bool wanted = t->config.faults;
	skeleton->rodata->noise_traces_faults = wanted;
	bpf_program__set_autoload(skeleton->progs.fault_begin, wanted);
	bpf_program__set_autoload(skeleton->progs.fault_minor, wanted);
	bpf_program__set_autoload(skeleton->progs.fault_major, wanted);
	return wanted ? bpf_map__set_max_entries(skeleton->maps.noise_parked_faults, PARKED_FAULTS)
		      : 0;
}

int fault__attach(struct tracer *t)
{
	const struct {
		uint64_t kind;
		struct bpf_program *program;
	} events[FAULT_EVENTS] = {
		{PERF_COUNT_SW_PAGE_FAULTS, t->skeleton->progs.fault_begin},
		{PERF_COUNT_SW_PAGE_FAULTS_MIN, t->skeleton->progs.fault_minor},
		{PERF_COUNT_SW_PAGE_FAULTS_MAJ, t->skeleton->progs.fault_major},
	};
	if (!t->config.faults)
		return 0;
	t->fault_fds = calloc(t->config.watched_count * FAULT_EVENTS, sizeof(*t->fault_fds));
	if (!t->fault_fds)
		return -ENOMEM;
	for (size_t cpu = 0; cpu < t->config.watched_count; cpu++) {
		for (size_t i = 0; i < FAULT_EVENTS; i++) {
			int fd = open_event(events[i].kind, t->cpus[cpu]);
			if (fd < 0)
				return fd;
			t->fault_fds[t->fault_fd_count++] = fd;
			if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, bpf_program__fd(events[i].program)))
				return -errno;
		}
	}
	return 0;
}

void fault__detach(struct tracer *t)
{
	while (t->fault_fd_count)
		close(t->fault_fds[--t->fault_fd_count]);
	free(t->fault_fds);
	t->fault_fds = NULL;
}
