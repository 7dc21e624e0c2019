// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "fault.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "skeleton.h"

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

int fault__configure(struct noisetop_bpf *skeleton, bool wanted)
{
	skeleton->rodata->noise_traces_faults = wanted;
	bpf_program__set_autoload(skeleton->progs.fault_begin, wanted);
	bpf_program__set_autoload(skeleton->progs.fault_minor, wanted);
	bpf_program__set_autoload(skeleton->progs.fault_major, wanted);
	return wanted ? bpf_map__set_max_entries(skeleton->maps.noise_parked_faults, PARKED_FAULTS)
		      : 0;
}

int fault__attach(struct fault_events *events, const struct noisetop_bpf *skeleton,
		  const uint32_t *cpus, size_t count)
{
	const struct {
		uint64_t kind;
		struct bpf_program *program;
	} kinds[FAULT_EVENTS] = {
		{PERF_COUNT_SW_PAGE_FAULTS, skeleton->progs.fault_begin},
		{PERF_COUNT_SW_PAGE_FAULTS_MIN, skeleton->progs.fault_minor},
		{PERF_COUNT_SW_PAGE_FAULTS_MAJ, skeleton->progs.fault_major},
	};
	events->fds = calloc(count * FAULT_EVENTS, sizeof(*events->fds));
	if (!events->fds)
		return -ENOMEM;
	for (size_t cpu = 0; cpu < count; cpu++) {
		for (size_t i = 0; i < FAULT_EVENTS; i++) {
			int fd = open_event(kinds[i].kind, cpus[cpu]);
			if (fd < 0)
				return fd;
			events->fds[events->count++] = fd;
			if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, bpf_program__fd(kinds[i].program)))
				return -errno;
		}
	}
	return 0;
}

void fault__detach(struct fault_events *events)
{
	while (events->count)
		close(events->fds[--events->count]);
	free(events->fds);
	events->fds = NULL;
}
