// SPDX-License-Identifier: Apache-2.0
#include "tracer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "btf_field.h"
#include "btf_resolved.h"
#include "cpu_states.h"
#include "kernel_casts.h"
#include "kernel_hooks.h"
#include "libbpf_log.h"
#include "per_cpu.h"
#include "placeholders.h"
#include "program_code.h"
#include "rcu.h"
#include "skeleton.h"

#define USER_STACKS 16384 /* 5 MiB */
#define VICTIM_IDS 65536

static int fail(struct tracer_error *error, const char *step, int err)
{
	error->step = step;
	snprintf(error->detail, sizeof(error->detail), "%s", libbpf_log__reason());
	error->detail[strcspn(error->detail, "\n")] = '\0';
	return err;
}

static void refuse_hazard(struct tracer *t, const struct btf *kernel, const struct bpf_program *p)
{
	struct refusal refusal = {0};
	const char *reason = rcu__hazard(kernel, tracepoint_of(p));
	if (!reason)
		return;
	snprintf(refusal.program, sizeof(refusal.program), "%s", bpf_program__name(p));
	snprintf(refusal.reason, sizeof(refusal.reason), "%s", reason);
	refusals__add(&t->refusals, &refusal, 0);
}

static void leave_out_refused(struct tracer *t, const struct btf *kernel)
{
	struct bpf_program *program;
	bpf_object__for_each_program(program, t->skeleton->obj)
	{
		refuse_hazard(t, kernel, program);
		if (refusals__covers(&t->refusals, t->skeleton->obj, program))
			bpf_program__set_autoload(program, false);
	}
}

/* Number of arguments of a tracepoint, without the leading context of its BTF typedef. */
static int tracepoint_arguments(const struct btf *kernel, const char *type_name)
{
	int id = btf__find_by_name_kind(kernel, type_name, BTF_KIND_TYPEDEF);
	const struct btf_type *type = id < 0 ? NULL : btf_resolved(kernel, id);
	if (type && btf_is_ptr(type))
		type = btf_resolved(kernel, type->type);
	return type && btf_is_func_proto(type) ? btf_vlen(type) - 1 : -1;
}

static void configure_watched(struct tracer *t)
{
	struct noisetop_bpf__rodata *rodata = t->skeleton->rodata;
	const uint32_t *cpus = t->rings.cpus;
	uint32_t word = cpus[0] / 64;
	uint64_t bits = 0;
	rodata->noise_cpu_count = rings__states(&t->rings);
	for (size_t i = 0; i < t->rings.watched_count; i++)
		rodata->noise_watched_cpus[cpus[i]] = true;
	for (size_t i = 0; i < t->rings.watched_count; i++) {
		if (cpus[i] / 64 != word)
			return;
		bits |= 1ull << cpus[i] % 64;
	}
	rodata->noise_watched_word = word;
	rodata->noise_watched_bits = bits;
}

static void configure_victims(struct tracer *t)
{
	struct noisetop_bpf__rodata *rodata = t->skeleton->rodata;
	rodata->noise_victims = t->config.victims;
	rodata->noise_victim_tgid = t->config.victim_tgid;
	rodata->noise_victim_cgroup = t->config.victim_cgroup;
	rodata->noise_victim_cgroup_level = t->config.victim_cgroup_level;
	rodata->noise_csd_callback = t->config.csd_callback;
	rodata->noise_tick_function = t->config.tick_function;
	rodata->noise_takes_stacks = t->config.stacks;
}

/* A field of a per-CPU variable, from where per_cpu__offset() begins; -1: there is none. */
static long long per_cpu_field(const struct btf *kernel, const char *variable, const char *type,
			       const char *field)
{
	long long offset = per_cpu__offset(kernel, variable);
	long long inside = offset < 0 ? -1 : btf_field_offset(kernel, type, field);
	return inside < 0 ? -1 : offset + inside;
}

/* On x86 the preempt count stood alone, then in pcpu_hot (6.2 to 6.14), and alone again. */
static long long preempt_count_offset(const struct btf *kernel)
{
	long long count = per_cpu__offset(kernel, "__preempt_count");
	return count >= 0 ? count : per_cpu_field(kernel, "pcpu_hot", "pcpu_hot", "preempt_count");
}

/* On x86 the mask was in irq_stat, as it is elsewhere, then in pcpu_hot (6.2 to 6.14), then alone. */
static long long softirq_mask_offset(const struct btf *kernel)
{
	long long mask = per_cpu__offset(kernel, "__softirq_pending");
	if (mask < 0)
		mask = per_cpu_field(kernel, "pcpu_hot", "pcpu_hot", "softirq_pending");
	if (mask < 0)
		mask = per_cpu_field(kernel, "irq_stat", "irq_cpustat_t", "__softirq_pending");
	return mask;
}

/* What is found by its distance from the run queue, to which the current task leads. */
static void configure_per_cpu(struct tracer *t, const struct btf *kernel)
{
	struct noisetop_bpf__rodata *rodata = t->skeleton->rodata;
	long long queue = per_cpu__offset(kernel, "runqueues");
	if (queue < 0 || btf_field_offset(kernel, "cfs_rq", "rq") < 0)
		return;
	long long count = preempt_count_offset(kernel);
	rodata->noise_preempt_count_known = count >= 0;
	rodata->noise_preempt_count_offset = count - queue;
	if (!rodata->noise_casts_known)
		return;
	long long mask = softirq_mask_offset(kernel);
	rodata->noise_pending_known = mask >= 0;
	rodata->noise_pending_offset = mask - queue;
}

/* Configures what depends on the kernel's BTF. */
static int configure_kernel(struct tracer *t)
{
	struct btf *kernel = btf__load_vmlinux_btf();
	if (!kernel)
		return -errno;
	leave_out_refused(t, kernel);
	int err = kernel_hooks__leave_out_missing(kernel, t->skeleton->obj);
	t->skeleton->rodata->noise_switch_has_state =
		tracepoint_arguments(kernel, "btf_trace_sched_switch") >= 4;
	if (!err)
		err = kernel_casts__resolve(kernel, t->skeleton->obj,
					    &t->skeleton->rodata->noise_casts_known);
	configure_per_cpu(t, kernel);
	btf__free(kernel);
	return err;
}

static bool lists_victims(uint32_t victims)
{
	return victims == NOISE_VICTIMS_TREE || victims == NOISE_VICTIMS_PROCESSES ||
	       victims == NOISE_VICTIMS_THREADS;
}

static int configure_code(struct tracer *t)
{
	const struct bpf_object *object = t->skeleton->obj;
	const struct noisetop_bpf__rodata *rodata = t->skeleton->rodata;
	const struct {
		int placeholder;
		int number;
	} numbers[] = {
		{NOISE_CPU_COUNT_NUMBER, rodata->noise_cpu_count},
		{NOISE_VICTIMS_NUMBER, rodata->noise_victims},
		{NOISE_TAKES_STACKS_NUMBER, rodata->noise_takes_stacks},
		{NOISE_TRACES_FAULTS_NUMBER, rodata->noise_traces_faults},
		{NOISE_PENDING_KNOWN_NUMBER, rodata->noise_pending_known},
		{NOISE_COUNT_PLACED_NUMBER,
		 rodata->noise_preempt_count_known && rodata->noise_casts_known},
		{NOISE_WAKEUP_TELLS_NUMBER, rodata->noise_wakeup_tells_waker},
		{NOISE_QUEUED_KNOWN_NUMBER, rodata->noise_queued_wakeup != 0},
	};
	int err = cpu_states__place(t->skeleton->maps.noise_cpus, object);
	for (size_t i = 0; !err && i < sizeof(numbers) / sizeof(*numbers); i++)
		err = program_code__put(object, numbers[i].placeholder, numbers[i].number);
	return err;
}

static int configure_maps(struct tracer *t)
{
	struct noisetop_bpf *skeleton = t->skeleton;
	int err = fault__configure(skeleton, t->config.selection.faults);
	if (!err && lists_victims(t->config.victims))
		err = bpf_map__set_max_entries(skeleton->maps.noise_victim_ids, VICTIM_IDS);
	if (!err && t->config.stacks)
		err = bpf_map__set_max_entries(skeleton->maps.noise_user_stacks, USER_STACKS);
	if (!err)
		err = cpu_states__create(skeleton->maps.noise_cpus, rings__states(&t->rings));
	if (!err && !t->config.compiled)
		err = configure_code(t);
	if (!err)
		err = bpf_map__set_max_entries(skeleton->maps.noise_records,
					       rings__capacity(&t->rings) / NOISE_GROUP_RECORDS);
	return err;
}

static int configure(struct tracer *t, struct tracer_error *error)
{
	int err = t->config.compiled ? bcc_loader__open(&t->bcc, t->skeleton, &t->refusals)
				     : configure_kernel(t);
	if (err)
		return fail(error, t->config.compiled ? "open" : "btf", err);
	configure_watched(t);
	configure_victims(t);
	selection__apply(&t->config.selection, t->skeleton);
	err = configure_maps(t);
	return err ? fail(error, "open", err) : 0;
}

static int open_object(struct tracer *t, struct tracer_error *error)
{
	libbpf_log__clear();
	t->skeleton = noisetop_bpf__open();
	if (!t->skeleton)
		return fail(error, "open", -errno);
	return configure(t, error);
}

int tracer__open(struct tracer *t, const struct tracer_config *config, struct tracer_error *error)
{
	t->config = *config;
	int err = rings__init(&t->rings, config->cpus, config->watched_count, config->cpu_count,
			      config->ring_records);
	if (!err)
		err = drain__init(&t->drain, &config->drain, &t->rings);
	t->config.cpus = t->rings.cpus;
	return err ? fail(error, "open", err) : open_object(t, error);
}

/* libbpf loads all programs or none: start again without a refused one. */
static int load_what_passes(struct tracer *t, struct tracer_error *error)
{
	int err;
	while ((err = noisetop_bpf__load(t->skeleton))) {
		if (!refusals__add_logged(&t->refusals, libbpf_log__reason(), err))
			return fail(error, "load", err);
		noisetop_bpf__destroy(t->skeleton);
		err = open_object(t, error);
		if (err)
			return err;
	}
	return 0;
}

int tracer__load(struct tracer *t, struct tracer_error *error)
{
	int err = t->config.compiled ? 0 : load_what_passes(t, error);
	if (err)
		return err;
	if (t->config.compiled)
		err = bcc_loader__create_maps(&t->bcc);
	if (!err)
		err = rings__map(&t->rings, t->skeleton->maps.noise_cpus,
				 t->skeleton->maps.noise_records);
	if (!err)
		err = task_states__map(&t->tasks, t->skeleton->maps.noise_tasks,
				       t->skeleton->maps.noise_owners,
				       t->skeleton->maps.noise_crowded);
	return err ? fail(error, "map", err) : 0;
}

int tracer__attach(struct tracer *t, struct tracer_error *error)
{
	twins__hold_back(t->skeleton);
	int err = t->config.compiled ? bcc_loader__attach(&t->bcc)
				     : noisetop_bpf__attach(t->skeleton);
	if (err)
		return fail(error, "attach", err);
	if (t->config.selection.faults)
		err = fault__attach(&t->faults, t->skeleton, t->rings.cpus, t->rings.watched_count);
	return err ? fail(error, "faults", err) : 0;
}

/* Has the kernel call a program for each task. */
static int walk_tasks(const struct bpf_link *link)
{
	char nothing[16]; /* is written by the programs */
	int fd = link ? bpf_iter_create(bpf_link__fd(link)) : -ENOENT;
	ssize_t size;
	if (fd < 0)
		return fd;
	do
		size = read(fd, nothing, sizeof(nothing));
	while (size < 0 && (errno == EINTR || errno == EAGAIN));
	int err = size < 0 ? -errno : 0;
	close(fd);
	return err;
}

/* Where the kernel refuses it, a wait is known from the next switch of its task on. */
static void find_waits(const struct tracer *t)
{
	if (!walk_tasks(t->skeleton->links.wait_find))
		walk_tasks(t->skeleton->links.wait_recheck);
}

/* Those of BCC are attached from the start. */
static void start_twins(struct tracer *t)
{
	if (t->config.compiled)
		return;
	twins__start(&t->twins, t->skeleton, &t->rings);
	if (t->twins.thread_started)
		drain__announce_twins(&t->drain, &t->twins.needed);
}

uint64_t tracer__start_window(struct tracer *t)
{
	start_twins(t);
	uint64_t start_ns = drain__start_window(&t->drain);
	find_waits(t);
	return start_ns;
}

void tracer__destroy(struct tracer *t)
{
	drain__destroy(&t->drain);
	twins__stop(&t->twins);
	task_states__unmap(&t->tasks);
	fault__detach(&t->faults);
	bcc_loader__destroy(&t->bcc);
	noisetop_bpf__destroy(t->skeleton);
	refusals__destroy(&t->refusals);
	rings__destroy(&t->rings);
}
