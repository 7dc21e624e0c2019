// SPDX-License-Identifier: Apache-2.0
#include "thread_times.h"

#include <stdlib.h>
#include <string.h>

static uint64_t later(uint64_t one, uint64_t other)
{
	return one > other ? one : other;
}

static int64_t place_of(struct thread_times *t, uint64_t tid, bool add)
{
	return group_table__number(&t->tids, &tid, group_table__mix(0, tid), add);
}

static int make_room(struct thread_times *t, uint32_t count)
{
	if (count <= t->room)
		return 0;
	uint32_t room = t->room ? 2 * t->room : 64;
	struct thread_time *times = realloc(t->times, (size_t)room * sizeof(*times));
	if (!times)
		return -1;
	t->times = times;
	t->room = room;
	return 0;
}

struct thread_time *thread_times__of(struct thread_times *t, uint64_t tid)
{
	uint32_t used = t->tids.used;
	if (make_room(t, used + 1))
		return NULL;
	int64_t place = place_of(t, tid, true);
	if (place < 0)
		return NULL;
	if (t->tids.used > used)
		t->times[place] = (struct thread_time){
			.since_ns = t->closed_ns,
			.until_ns = t->closed_ns,
			.cpu = THREAD_CPU_UNKNOWN,
			.alive = true,
		};
	return &t->times[place];
}

static int add_run(struct thread_time *time, int64_t cpu, uint64_t ns)
{
	uint32_t at = 0;
	while (at < time->cpus && time->ran_on[at].cpu != cpu)
		at++;
	if (at == time->room) {
		uint32_t room = time->room ? 2 * time->room : 2;
		struct thread_on_cpu *wider = realloc(time->ran_on, (size_t)room * sizeof(*wider));
		if (!wider)
			return -1;
		time->ran_on = wider;
		time->room = room;
	}
	if (at == time->cpus)
		time->ran_on[time->cpus++] = (struct thread_on_cpu){cpu, 0};
	time->ran_on[at].ns += ns;
	return 0;
}

/* It ran up to a moment; after that it is on `cpu`. */
static int ran(struct thread_time *time, uint64_t until_ns, int64_t cpu)
{
	int64_t on = time->cpu == THREAD_CPU_UNKNOWN ? cpu : time->cpu;
	time->cpu = cpu;
	if (!time->alive || until_ns <= time->until_ns)
		return 0;
	return add_run(time, on, until_ns - time->until_ns);
}

static void block(struct thread_time *time, uint64_t start_ns, uint64_t end_ns)
{
	start_ns = later(start_ns, time->until_ns);
	if (end_ns <= start_ns)
		return;
	time->blocked_ns += end_ns - start_ns;
	time->until_ns = end_ns;
}

/* Nothing before counts, since it ended or since the period began. */
static void born(struct thread_time *time, uint64_t now_ns)
{
	if (time->seen && time->alive)
		return;
	time->since_ns = later(time->since_ns, now_ns);
	time->until_ns = later(time->until_ns, now_ns);
	time->alive = true;
}

static void add_wall(struct thread_time *time, uint64_t until_ns)
{
	if (time->alive && until_ns > time->since_ns)
		time->wall_ns += until_ns - time->since_ns;
}

/* Whether a thread is here only since a record. */
static bool comes_with(const struct thread_times *t, const struct thread_time *time,
		       const struct thread_record *r)
{
	if (r->kind == THREAD_EXITED)
		return false;
	bool first_wakeup = !time->seen && r->kind == THREAD_WOKEN && !r->slept_ns;
	return !time->alive || r->slept_ns == t->new_mark || (first_wakeup && !t->follows);
}

/* Accounts what came before a wait, or what is none. */
static int begin(const struct thread_times *t, struct thread_time *time,
		 const struct thread_record *r)
{
	int err = 0;
	uint64_t left_ns = r->slept_ns < r->start_ns ? r->start_ns - r->slept_ns : 0;
	if (r->kind == THREAD_BLOCKED) {
		err = ran(time, r->start_ns, r->cpu);
		block(time, r->start_ns, r->end_ns);
	} else if (comes_with(t, time, r)) {
		born(time, r->start_ns);
		time->cpu = r->cpu;
	} else if (r->slept_ns) {
		err = ran(time, left_ns, r->cpu);
		block(time, left_ns, r->start_ns);
	} else if (!time->seen && r->kind == THREAD_WOKEN) {
		block(time, time->until_ns, r->start_ns);
		time->cpu = r->cpu;
	} else {
		err = ran(time, r->start_ns, r->cpu);
	}
	time->seen = true;
	if (r->kind == THREAD_EXITED && time->alive) {
		add_wall(time, r->end_ns);
		time->alive = false;
		time->since_ns = r->end_ns;
	}
	return err;
}

/* Accounts a wait as such. Where the part of it begins whose causes are to be found. */
static uint64_t wait(struct thread_time *time, const struct thread_record *r)
{
	uint64_t start_ns = later(r->start_ns, time->until_ns);
	if (r->kind == THREAD_BLOCKED || r->kind == THREAD_EXITED || r->end_ns <= start_ns)
		return UINT64_MAX;
	time->until_ns = r->end_ns;
	time->delay_ns += r->end_ns - start_ns;
	if (r->kind != THREAD_THROTTLED)
		return start_ns;
	time->throttled_ns += r->end_ns - start_ns;
	return UINT64_MAX;
}

int thread_times__account(struct thread_times *t, const struct thread_record *records, size_t count,
			  uint64_t *begins)
{
	for (size_t i = 0; i < count; i++) {
		struct thread_time *time = thread_times__of(t, records[i].tid);
		if (!time || begin(t, time, &records[i]))
			return -1;
		begins[i] = wait(time, &records[i]);
	}
	return 0;
}

/* Keeps those that are alive, in their order, under numbers without gaps. */
static int compact(struct thread_times *t)
{
	struct group_table kept = {.width = 1};
	for (uint32_t place = 0; place < t->tids.used; place++) {
		uint64_t tid = t->tids.keys[place];
		if (t->times[place].alive &&
		    group_table__number(&kept, &tid, group_table__mix(0, tid), true) < 0) {
			group_table__destroy(&kept);
			return -1;
		}
	}
	for (uint32_t place = 0, to = 0; place < t->tids.used; place++) {
		struct thread_time time = t->times[place];
		t->times[place] = (struct thread_time){0};
		if (time.alive)
			t->times[to++] = time;
		else
			free(time.ran_on);
	}
	group_table__destroy(&t->tids);
	t->tids = kept;
	return 0;
}

int thread_times__close(struct thread_times *t, uint64_t until_ns)
{
	for (uint32_t place = 0; place < t->tids.used; place++) {
		struct thread_time *time = &t->times[place];
		time->wall_ns = time->blocked_ns = time->delay_ns = time->throttled_ns = 0;
		time->cpus = 0;
		time->since_ns = until_ns;
		time->until_ns = later(time->until_ns, until_ns);
	}
	t->closed_ns = until_ns;
	return compact(t);
}

int thread_times__forget(struct thread_times *t, const uint64_t *tids, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		int64_t place = t->tids.used ? place_of(t, tids[i], false) : GROUP_UNKNOWN;
		if (place >= 0 && place != GROUP_UNKNOWN)
			t->times[place].alive = false;
	}
	return compact(t);
}

void thread_times__destroy(struct thread_times *t)
{
	for (uint32_t place = 0; place < t->tids.used; place++)
		free(t->times[place].ran_on);
	free(t->times);
	group_table__destroy(&t->tids);
	*t = (struct thread_times){.tids = {.width = 1}};
}
