// SPDX-License-Identifier: Apache-2.0
#include "kernel_hooks.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "refusals.h"

/* How the kernel's BTF names the type of a tracepoint, and the function of a walk. */
#define TRACEPOINT "btf_trace_"
#define WALK "bpf_iter_"

struct hook {
	struct bpf_program *program;
	const char *name;
	bool is_walk;
	bool is_there;
};

static size_t list_hooks(const struct bpf_object *object, struct hook *hooks)
{
	struct bpf_program *program;
	size_t count = 0;
	bpf_object__for_each_program(program, object)
	{
		if (hooks)
			hooks[count] = (struct hook){
				.program = program,
				.name = tracepoint_of(program),
				.is_walk = bpf_program__expected_attach_type(program) ==
					   BPF_TRACE_ITER,
			};
		count++;
	}
	return count;
}

static void note(struct hook *hooks, size_t count, const char *name, bool is_walk)
{
	const char *prefix = is_walk ? WALK : TRACEPOINT;
	if (strncmp(name, prefix, strlen(prefix)) != 0)
		return;
	for (size_t i = 0; i < count; i++)
		if (hooks[i].is_walk == is_walk && !strcmp(hooks[i].name, name + strlen(prefix)))
			hooks[i].is_there = true;
}

/* One pass for all: BTF is not sorted by name and holds more than 100,000 types. */
static void look_up(const struct btf *kernel, struct hook *hooks, size_t count)
{
	for (uint32_t id = 1; id < btf__type_cnt(kernel); id++) {
		const struct btf_type *type = btf__type_by_id(kernel, id);
		if (btf_is_typedef(type) || btf_is_func(type))
			note(hooks, count, btf__name_by_offset(kernel, type->name_off),
			     btf_is_func(type));
	}
}

int kernel_hooks__leave_out_missing(const struct btf *kernel, const struct bpf_object *object)
{
	size_t count = list_hooks(object, NULL);
	struct hook *hooks = calloc(count, sizeof(*hooks));
	if (!hooks)
		return -ENOMEM;
	list_hooks(object, hooks);
	look_up(kernel, hooks, count);
	for (size_t i = 0; i < count; i++)
		if (!hooks[i].is_there)
			bpf_program__set_autoload(hooks[i].program, false);
	free(hooks);
	return 0;
}
