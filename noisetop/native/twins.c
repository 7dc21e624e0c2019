// SPDX-License-Identifier: Apache-2.0
#include "twins.h"

#include <bpf/libbpf.h>

#include "skeleton.h"

void twins__hold_back(const struct noisetop_bpf *skeleton)
{
	bpf_program__set_autoattach(skeleton->progs.hrtimer_entry_twin_2, false);
	bpf_program__set_autoattach(skeleton->progs.hrtimer_exit_twin_2, false);
}

bool twins__are_needed(const struct rings *rings)
{
	for (size_t i = 0; i < rings->watched_count; i++)
		if (__atomic_load_n(&rings__state(rings, i)->softirq_timers, __ATOMIC_RELAXED))
			return true;
	return false;
}

static struct bpf_link *attach(const struct bpf_program *program)
{
	return bpf_program__fd(program) < 0 ? NULL : bpf_program__attach(program);
}

static void attach_all(struct noisetop_bpf *skeleton)
{
	skeleton->links.hrtimer_entry_twin_2 = attach(skeleton->progs.hrtimer_entry_twin_2);
	skeleton->links.hrtimer_exit_twin_2 = attach(skeleton->progs.hrtimer_exit_twin_2);
}

static void *wait_until_needed(void *argument)
{
	struct twins *twins = argument;
	while (sem_wait(&twins->needed))
		; /* a signal came */
	if (!__atomic_load_n(&twins->stopping, __ATOMIC_ACQUIRE))
		attach_all(twins->skeleton);
	return NULL;
}

void twins__start(struct twins *twins, struct noisetop_bpf *skeleton, const struct rings *rings)
{
	twins->skeleton = skeleton;
	if (twins__are_needed(rings)) {
		attach_all(skeleton);
		return;
	}
	sem_init(&twins->needed, 0, 0);
	twins->thread_started = !pthread_create(&twins->thread, NULL, wait_until_needed, twins);
}

void twins__stop(struct twins *twins)
{
	if (!twins->thread_started)
		return;
	__atomic_store_n(&twins->stopping, true, __ATOMIC_RELEASE);
	sem_post(&twins->needed);
	pthread_join(twins->thread, NULL);
	sem_destroy(&twins->needed);
	twins->thread_started = false;
}
