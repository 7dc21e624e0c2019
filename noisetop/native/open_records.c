// SPDX-License-Identifier: Apache-2.0
#include "open_records.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#define TASKS_AT_ONCE 4096
#define TRIES 8

static bool is_open(const struct noise_cpu *state, uint32_t level)
{
	return state->open_levels & 1u << level;
}

/* The CPU writes on meanwhile: a copy counts if nothing was opened or closed while it was made. */
static bool copy_state(const struct noise_cpu *state, struct noise_cpu *copy)
{
	for (int i = 0; i < TRIES; i++) {
		memcpy(copy, (const void *)state, sizeof(*copy));
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (copy->open_levels == __atomic_load_n(&state->open_levels, __ATOMIC_RELAXED) &&
		    copy->closed_ns == __atomic_load_n(&state->closed_ns, __ATOMIC_RELAXED))
			return true;
	}
	return false;
}

/* What ran inside of a frame so far: what was closed, and the frame above it that is open. */
static uint64_t net_of(const struct noise_cpu *state, uint32_t level, uint64_t now_ns,
		       uint64_t above_ns)
{
	const struct noise_frame *frame = &state->frames[level];
	uint64_t gross_ns = now_ns - frame->start_ns;
	uint64_t nested_ns = state->closed_ns + state->nmi_closed_ns - frame->closed_ns + above_ns;
	return nested_ns < gross_ns ? gross_ns - nested_ns : 0;
}

static int append_frame(const struct noise_cpu *state, uint32_t level, uint64_t now_ns,
			uint64_t net_ns, struct buffer *out)
{
	const struct noise_frame *frame = &state->frames[level];
	struct noise_event event = {
		.start_ns = frame->start_ns,
		.gross_ns = now_ns - frame->start_ns,
		.net_ns = net_ns,
		.id = frame->id,
		.tid = state->tid,
		.victim_tid = state->victim_tid,
		.cpu = state->cpu,
		.source = frame->source,
		.parent_source = frame->source,
		.level = level,
		.flags = NOISE_FLAG_THREADED | NOISE_FLAG_CONTINUED,
	};
	memcpy(event.comm, state->comm, sizeof(event.comm));
	if (level == NOISE_LEVEL_THREAD) {
		event.victim_tid = frame->object;
		event.parent_id = frame->waker_cpu;
		event.flags |= NOISE_FLAG_OUTERMOST | frame->object >> 32;
		if (!frame->marked)
			event.level |= NOISE_MARK_ENTRY;
	}
	return buffer__append(out, &event, sizeof(event));
}

/* The thread that runs on a CPU, and its work item. */
static int append_cpu(const struct noise_cpu *state, uint64_t now_ns, struct buffer *out)
{
	struct noise_cpu copy;
	uint64_t work_ns = 0;
	if (!is_open(state, NOISE_LEVEL_THREAD) || !copy_state(state, &copy) ||
	    !is_open(&copy, NOISE_LEVEL_THREAD) ||
	    copy.frames[NOISE_LEVEL_THREAD].start_ns >= now_ns)
		return 0;
	int err = 0;
	if (is_open(&copy, NOISE_LEVEL_WORK) && copy.frames[NOISE_LEVEL_WORK].start_ns < now_ns) {
		work_ns = net_of(&copy, NOISE_LEVEL_WORK, now_ns, 0);
		err = append_frame(&copy, NOISE_LEVEL_WORK, now_ns, work_ns, out);
	}
	uint64_t net_ns = net_of(&copy, NOISE_LEVEL_THREAD, now_ns, work_ns);
	return err ? err : append_frame(&copy, NOISE_LEVEL_THREAD, now_ns, net_ns, out);
}

/* Its wait, or its sleep. */
static int append_task(uint32_t tid, const struct noise_task *task, uint64_t now_ns,
		       struct buffer *out)
{
	struct noise_event event = {
		.start_ns = task->wait ? task->since_ns : task->left_ns,
		.object = task->wait ? task->slept_ns : 0,
		.tid = tid,
		.victim_tid = tid,
		.cpu = task->wait_cpu,
		.level = (task->wait ? task->wait - 1 : NOISE_WAIT_BLOCKED) | NOISE_MARK_OPEN,
		.flags = NOISE_FLAG_WAIT | NOISE_FLAG_CONTINUED,
	};
	if (!event.start_ns || event.start_ns >= now_ns)
		return 0;
	event.gross_ns = now_ns - event.start_ns;
	return buffer__append(out, &event, sizeof(event));
}

static int append_tasks(int tasks_fd, uint64_t now_ns, struct buffer *out)
{
	uint32_t *tids = calloc(TASKS_AT_ONCE, sizeof(*tids)), in = 0, next = 0;
	struct noise_task *tasks = calloc(TASKS_AT_ONCE, sizeof(*tasks));
	int err = tids && tasks ? 0 : -ENOMEM;
	bool more = !err, first = true;
	while (more && !err) {
		uint32_t count = TASKS_AT_ONCE;
		err = bpf_map_lookup_batch(tasks_fd, first ? NULL : &in, &next, tids, tasks, &count,
					   NULL);
		more = !err;
		if (err == -ENOENT)
			err = 0;
		for (uint32_t i = 0; i < count && !err; i++)
			err = append_task(tids[i], &tasks[i], now_ns, out);
		in = next;
		first = false;
	}
	free(tids);
	free(tasks);
	return err;
}

int open_records__collect(const struct rings *rings, int tasks_fd, uint64_t now_ns,
			  struct buffer *out)
{
	int err = 0;
	for (size_t i = 0; i < rings->watched_count && !err; i++)
		err = append_cpu(&rings->states[i], now_ns, out);
	return err ? err : append_tasks(tasks_fd, now_ns, out);
}
