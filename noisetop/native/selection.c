// SPDX-License-Identifier: Apache-2.0
#include "selection.h"

#include <string.h>

#include <bpf/libbpf.h>

#include "skeleton.h"

static bool is_left_out(const struct selection *selection, const struct bpf_program *program)
{
	const char *name = bpf_program__name(program);
	size_t length = strlen(name);
	const char *line = selection->left_out;
	while (line) {
		if (!strncmp(line, name, length) && (!line[length] || line[length] == '\n'))
			return true;
		line = strchr(line, '\n');
		line = line ? line + 1 : NULL;
	}
	return false;
}

/*
 * Most wake-ups happen in the context of their waker, and csd_queue_cpu tells of the others: then
 * none has to be looked at twice. Where the kernel lacks that, or nobody asks for sched_waking,
 * which tells of all, only the former are told.
 */
static void choose_wakers(const struct selection *selection, struct noisetop_bpf *skeleton)
{
	bool asked = bpf_program__autoload(skeleton->progs.wait_waking);
	bool queued = selection->queued_wakeup && bpf_program__autoload(skeleton->progs.csd_queue);
	skeleton->rodata->noise_queued_wakeup = queued ? selection->queued_wakeup : 0;
	skeleton->rodata->noise_wakeup_tells_waker = queued || !asked;
}

void selection__apply(const struct selection *selection, struct noisetop_bpf *skeleton)
{
	struct bpf_program *program;
	bpf_object__for_each_program(program, skeleton->obj)
	{
		if (is_left_out(selection, program))
			bpf_program__set_autoload(program, false);
	}
	choose_wakers(selection, skeleton);
	bpf_object__for_each_program(program, skeleton->obj)
	{
		if (!selection__wants(selection, skeleton, program))
			bpf_program__set_autoload(program, false);
	}
}

bool selection__spares(const struct noisetop_bpf *skeleton, const struct bpf_program *program)
{
	if (program == skeleton->progs.wait_waking)
		return skeleton->rodata->noise_queued_wakeup;
	return program == skeleton->progs.softirq_raise && skeleton->rodata->noise_pending_known;
}

bool selection__wants(const struct selection *selection, const struct noisetop_bpf *skeleton,
		      const struct bpf_program *program)
{
	if (is_left_out(selection, program) || selection__spares(skeleton, program))
		return false;
	if (program == skeleton->progs.entry_begin || program == skeleton->progs.entry_end)
		return selection->entries;
	return selection->faults || bpf_program__type(program) != BPF_PROG_TYPE_PERF_EVENT;
}
