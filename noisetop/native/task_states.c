// SPDX-License-Identifier: Apache-2.0
#include "task_states.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "map_memory.h"

#define AT_ONCE 1024

int task_states__map(struct task_states *states, const struct bpf_map *places,
		     const struct bpf_map *owners, const struct bpf_map *crowded)
{
	states->owners_fd = bpf_map__fd(owners);
	states->crowded_fd = bpf_map__fd(crowded);
	return map_memory__map(places, PROT_READ, (void **)&states->places, &states->bytes);
}

bool task_states__knows(const struct task_states *states, uint32_t tid)
{
	struct noise_task crowded;
	return tid && (states->places[tid % NOISE_TASK_PLACES].tid == tid ||
		       !bpf_map_lookup_elem(states->crowded_fd, &tid, &crowded));
}

/* Calls `visit` for what lies in a hash, whose values have this size. */
static int walk_hash(int fd, size_t value_bytes, int (*visit)(uint32_t, const void *, void *),
		     void *context)
{
	uint32_t *keys = calloc(AT_ONCE, sizeof(*keys)), in = 0, next = 0;
	char *values = calloc(AT_ONCE, value_bytes);
	int err = keys && values ? 0 : -ENOMEM;
	bool more = !err, first = true;
	while (more && !err) {
		uint32_t count = AT_ONCE;
		err = bpf_map_lookup_batch(fd, first ? NULL : &in, &next, keys, values, &count,
					   NULL);
		more = !err;
		if (err == -ENOENT)
			err = 0;
		for (uint32_t i = 0; i < count && !err; i++)
			err = visit(keys[i], values + i * value_bytes, context);
		in = next;
		first = false;
	}
	free(keys);
	free(values);
	return err;
}

struct walk {
	const struct task_states *states;
	int (*visit)(const struct noise_task *, void *);
	void *context;
};

static int visit_place(uint32_t index, const void *owner, void *context)
{
	const struct walk *walk = context;
	struct noise_task task = walk->states->places[index % NOISE_TASK_PLACES];
	return task.tid == *(const uint32_t *)owner ? walk->visit(&task, walk->context) : 0;
}

static int visit_crowded(uint32_t tid, const void *task, void *context)
{
	const struct walk *walk = context;
	(void)tid;
	return walk->visit(task, walk->context);
}

int task_states__walk(const struct task_states *states,
		      int (*visit)(const struct noise_task *task, void *context), void *context)
{
	struct walk walk = {states, visit, context};
	int err = walk_hash(states->owners_fd, sizeof(uint32_t), visit_place, &walk);
	return err ? err
		   : walk_hash(states->crowded_fd, sizeof(struct noise_task), visit_crowded, &walk);
}

void task_states__unmap(struct task_states *states)
{
	if (states->places)
		munmap((void *)states->places, states->bytes);
	states->places = NULL;
}
