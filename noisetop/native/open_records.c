// SPDX-License-Identifier: Apache-2.0
#include "open_records.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"

#define TRIES 64

/* A CPU as it was at a moment. */
struct moment {
	struct noise_cpu state;
	uint64_t now_ns;
};

static bool is_open(const struct noise_cpu *state, uint32_t level)
{
	return state->open_levels & 1u << level;
}

/* A level is marked as open before it has its start. */
static bool is_still(const volatile struct noise_cpu *now, const struct noise_cpu *copy)
{
	for (int level = 0; level < NOISE_LEVELS; level++)
		if (is_open(copy, level) &&
		    now->frames[level].start_ns != copy->frames[level].start_ns)
			return false;
	return now->open_levels == copy->open_levels && now->closed_ns == copy->closed_ns &&
	       now->softirq_closed_ns == copy->softirq_closed_ns &&
	       now->nmi_closed_ns == copy->nmi_closed_ns && now->tid == copy->tid &&
	       now->waiting == copy->waiting && now->waiting_moved == copy->waiting_moved &&
	       now->wait_since_ns == copy->wait_since_ns;
}

/* CPUs write on meanwhile: a copy counts if nothing was opened or closed while it was made. */
static bool copy_state(const struct noise_cpu *state, struct moment *moment)
{
	for (int i = 0; i < TRIES; i++) {
		memcpy(&moment->state, (const void *)state, sizeof(moment->state));
		moment->now_ns = monotonic_ns();
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (is_still(state, &moment->state))
			return true;
	}
	return false;
}

/* The gross time of a frame so far; 0: it began after that moment. */
static uint64_t gross_of(const struct moment *m, uint32_t level)
{
	uint64_t start_ns = m->state.frames[level].start_ns;
	return is_open(&m->state, level) && start_ns < m->now_ns ? m->now_ns - start_ns : 0;
}

/* Of all frames closed so far: noise_closed() in bpf/noise.bpf.h. */
static uint64_t closed_of(const struct noise_cpu *state)
{
	return state->closed_ns + state->softirq_closed_ns + state->nmi_closed_ns;
}

/* Without what ran inside of it so far: what was closed, and what is open above it. */
static uint64_t net_of(const struct moment *m, uint32_t level, uint64_t above_ns)
{
	const struct noise_cpu *state = &m->state;
	uint64_t nested_ns = closed_of(state) - state->frames[level].closed_ns + above_ns;
	uint64_t gross_ns = gross_of(m, level);
	return nested_ns < gross_ns ? gross_ns - nested_ns : 0;
}

static int append_frame(const struct moment *m, uint32_t level, uint64_t net_ns, struct buffer *out)
{
	const struct noise_cpu *state = &m->state;
	const struct noise_frame *frame = &state->frames[level];
	struct noise_event event = {
		.start_ns = frame->start_ns,
		.gross_ns = gross_of(m, level),
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

static void read_name(uint32_t tid, char name[NOISE_COMM_LEN])
{
	char path[32];
	snprintf(path, sizeof(path), "/proc/%u/comm", tid);
	FILE *file = fopen(path, "re");
	memset(name, 0, NOISE_COMM_LEN);
	if (!file)
		return;
	if (fgets(name, NOISE_COMM_LEN, file))
		name[strcspn(name, "\n")] = '\0';
	fclose(file);
}

/* The thread was alone when it came, and a victim waits for it since: as thread_delayed() in
 * bpf/thread.bpf.c opens its frame when it leaves. */
static void open_delaying(const struct open_records *request, struct moment *m)
{
	struct noise_cpu *state = &m->state;
	struct noise_frame *frame = &state->frames[NOISE_LEVEL_THREAD];
	if (is_open(state, NOISE_LEVEL_THREAD) ||
	    (int32_t)(state->waiting + state->waiting_moved) <= 0 || !state->tid ||
	    state->watch != NOISE_WATCH_SYNCED || state->wait_since_ns >= m->now_ns)
		return;
	uint64_t waited_ns = m->now_ns - state->wait_since_ns;
	uint64_t closed_ns = closed_of(state);
	bool self = !request->any_task && task_states__knows(request->tasks, state->tid);
	*frame = (struct noise_frame){
		.start_ns = state->wait_since_ns,
		.closed_ns = closed_ns - state->wait_closed_ns > waited_ns ? closed_ns - waited_ns
									   : state->wait_closed_ns,
		.id = state->tid,
		.object = (uint64_t)(self ? NOISE_FLAG_SELF : 0) << 32 | state->waiting_tid,
		.source = request->thread_source,
		.marked = 1,
	};
	read_name(state->tid, state->comm);
	state->open_levels |= 1u << NOISE_LEVEL_THREAD;
}

/* The thread that runs on a CPU, its work item, and what interrupts them. */
static int append_cpu(const struct open_records *request, const struct noise_cpu *state,
		      uint64_t until_ns, struct buffer *out, struct buffer *above)
{
	struct moment m;
	uint64_t above_ns = 0;
	int err = 0;
	if (!copy_state(state, &m))
		return 0;
	if (until_ns && m.now_ns > until_ns)
		m.now_ns = until_ns;
	open_delaying(request, &m);
	if (!gross_of(&m, NOISE_LEVEL_THREAD))
		return 0;
	for (int level = NOISE_LEVELS - 1; level >= 0 && !err; level--) {
		if (!gross_of(&m, level))
			continue;
		uint64_t net_ns = net_of(&m, level, above_ns);
		bool is_thread = level == NOISE_LEVEL_THREAD || level == NOISE_LEVEL_WORK;
		if (is_thread || above)
			err = append_frame(&m, level, net_ns, is_thread ? out : above);
		above_ns += net_ns;
	}
	return err;
}

/* What is asked of each task. */
struct tasks_wanted {
	uint64_t now_ns;
	struct buffer *out;
};

/* Its wait, or its sleep. */
static int append_task(const struct noise_task *task, void *context)
{
	const struct tasks_wanted *wanted = context;
	struct noise_event event = {
		.start_ns = task->wait ? task->since_ns : task->left_ns,
		.object = task->wait ? task->slept_ns : 0,
		.tid = task->tid,
		.victim_tid = task->tid,
		.cpu = task->wait_cpu,
		.level = (task->wait ? task->wait - 1 : NOISE_WAIT_BLOCKED) | NOISE_MARK_OPEN,
		.flags = NOISE_FLAG_WAIT | NOISE_FLAG_CONTINUED,
	};
	if (!event.start_ns || event.start_ns >= wanted->now_ns)
		return 0;
	event.gross_ns = wanted->now_ns - event.start_ns;
	return buffer__append(wanted->out, &event, sizeof(event));
}

int open_records__collect(const struct open_records *request, const struct rings *rings,
			  uint64_t until_ns, struct buffer *out, struct buffer *above)
{
	struct tasks_wanted wanted = {until_ns ? until_ns : monotonic_ns(), out};
	int err = 0;
	for (size_t i = 0; i < rings->watched_count && !err; i++)
		err = append_cpu(request, rings__state(rings, i), until_ns, out, above);
	return err ? err : task_states__walk(request->tasks, append_task, &wanted);
}
