// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "compiled.h"
#include "per_cpu.h"
#include "rcu.h"
#include "tracer.h"
#include "noisetop.skel.h"

_Static_assert(sizeof(struct noise_event) == 64, "one event is one cache line");
_Static_assert(sizeof(struct noise_cpu) % 64 == 0, "states of two CPUs share no cache line");
_Static_assert(offsetof(struct noise_cpu, tails) % 64 == 0, "what user space writes is apart");

/* Ring of a CPU that only causes: 256 KiB, 80,000 triggers/s. */
#define TRIGGER_RECORDS 4096
#define ESSENTIAL "thread_switch" /* tells who the victim is */
#define PCPU_HOT_PREEMPT_COUNT 8  /* behind the pointer to the current task */

static char last_message[256];

const char *verifier_log__reason(char *text)
{
	char *end = strstr(text, "\nprocessed ");
	if (!end)
		return text;
	*end = '\0';
	char *line = strrchr(text, '\n');
	return line ? line + 1 : text;
}

/* Later messages only say that the step failed; the first one says why. */
static int keep_warning(enum libbpf_print_level level, const char *format, va_list args)
{
	char *text;
	if (level != LIBBPF_WARN || vasprintf(&text, format, args) < 0)
		return 0;
	if (strstr(text, "PROG LOAD LOG"))
		snprintf(last_message, sizeof(last_message), "%.*s: %s",
			 (int)strcspn(text + 8, ":"), text + 8, verifier_log__reason(text));
	else if (!last_message[0])
		snprintf(last_message, sizeof(last_message), "%s", text);
	free(text);
	return 0;
}

void libbpf_log__capture(void)
{
	libbpf_set_print(keep_warning);
}

const char *libbpf_log__last(void)
{
	return last_message;
}

static int fail(struct tracer_error *error, const char *step, int err)
{
	error->step = step;
	snprintf(error->detail, sizeof(error->detail), "%s", last_message);
	error->detail[strcspn(error->detail, "\n")] = '\0';
	return err;
}

static const char *tracepoint_of(const struct bpf_program *program)
{
	const char *slash = strchr(bpf_program__section_name(program), '/');
	return slash ? slash + 1 : "";
}

/* Length of a tracepoint's name without what tells the two of a pair apart. */
static size_t stem_of(const char *tracepoint)
{
	static const char *const ends[] = {"_entry", "_exit", "_start", "_end"};
	size_t length = strlen(tracepoint);
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		size_t end = strlen(ends[i]);
		if (length > end && !strcmp(tracepoint + length - end, ends[i]))
			return length - end;
	}
	return length;
}

const char *tracer__refusal(const struct tracer *t, const char *program)
{
	for (size_t i = 0; i < t->refusal_count; i++)
		if (!strcmp(t->refusals[i].program, program))
			return t->refusals[i].reason;
	return NULL;
}

bool tracer__is_refused(const struct tracer *t, const struct bpf_program *program)
{
	const char *tracepoint = tracepoint_of(program);
	struct bpf_program *other;
	bpf_object__for_each_program(other, t->skeleton->obj)
	{
		size_t stem = stem_of(tracepoint);
		if (stem == stem_of(tracepoint_of(other)) &&
		    !strncmp(tracepoint, tracepoint_of(other), stem) &&
		    tracer__refusal(t, bpf_program__name(other)))
			return true;
	}
	return false;
}

static void refuse_hazard(struct tracer *t, const struct btf *kernel, const struct bpf_program *p)
{
	struct tracer_refusal refusal = {0};
	const char *reason = rcu__hazard(kernel, tracepoint_of(p));
	if (!reason)
		return;
	snprintf(refusal.program, sizeof(refusal.program), "%s", bpf_program__name(p));
	snprintf(refusal.reason, sizeof(refusal.reason), "%s", reason);
	tracer__note_refusal(t, &refusal, 0);
}

/* Leaves out what was refused and the programs whose tracepoint the kernel's BTF lacks. */
static void leave_out_missing(struct tracer *t, const struct btf *kernel)
{
	struct bpf_program *program;
	bpf_object__for_each_program(program, t->skeleton->obj)
	{
		char type_name[128];
		refuse_hazard(t, kernel, program);
		snprintf(type_name, sizeof(type_name), "btf_trace_%s", tracepoint_of(program));
		if (btf__find_by_name_kind(kernel, type_name, BTF_KIND_TYPEDEF) < 0 ||
		    tracer__is_refused(t, program))
			bpf_program__set_autoload(program, false);
	}
}

/* Number of arguments of a tracepoint, without the leading context of its BTF typedef. */
static int tracepoint_arguments(const struct btf *kernel, const char *type_name)
{
	int id = btf__find_by_name_kind(kernel, type_name, BTF_KIND_TYPEDEF);
	const struct btf_type *type = id < 0 ? NULL : btf__type_by_id(kernel, id);
	while (type && (btf_is_typedef(type) || btf_is_ptr(type)))
		type = btf__type_by_id(kernel, type->type);
	return type && btf_is_func_proto(type) ? btf_vlen(type) - 1 : -1;
}

/* Records of all rings of the CPU at this place. */
static uint32_t records_of(const struct tracer *t, size_t place)
{
	uint32_t first = place < t->config.watched_count ? t->config.ring_records : TRIGGER_RECORDS;
	return first + (NOISE_RINGS - 1) * NOISE_NESTED_RECORDS;
}

static void configure_watched(struct tracer *t)
{
	struct noisetop_bpf *skeleton = t->skeleton;
	uint32_t word = t->cpus[0] / 64;
	uint64_t bits = 0;
	for (size_t i = 0; i < t->config.cpu_count; i++)
		skeleton->rodata->noise_slots[t->cpus[i]] = i + 1;
	skeleton->rodata->noise_watched_count = t->config.watched_count;
	for (size_t i = 0; i < t->config.watched_count; i++) {
		if (t->cpus[i] / 64 != word)
			return;
		bits |= 1ull << t->cpus[i] % 64;
	}
	skeleton->rodata->noise_watched_word = word;
	skeleton->rodata->noise_watched_bits = bits;
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

/* On x86 the preempt count stood alone, then first in pcpu_hot (6.2 to 6.14), and alone again. */
static void configure_preempt_count(struct tracer *t, const struct btf *kernel)
{
	long long queue = per_cpu__offset(kernel, "runqueues");
	long long count = per_cpu__offset(kernel, "__preempt_count");
	long long hot = count < 0 ? per_cpu__offset(kernel, "pcpu_hot") : -1;
	if (hot >= 0)
		count = hot + PCPU_HOT_PREEMPT_COUNT;
	if (queue < 0 || count < 0)
		return;
	t->skeleton->rodata->noise_preempt_count_known = true;
	t->skeleton->rodata->noise_preempt_count_offset = count - queue;
}

/* What the kernel's BTF tells. */
static int configure_kernel(struct tracer *t)
{
	struct btf *kernel = btf__load_vmlinux_btf();
	if (!kernel)
		return -errno;
	leave_out_missing(t, kernel);
	t->skeleton->rodata->noise_switch_has_state =
		tracepoint_arguments(kernel, "btf_trace_sched_switch") >= 4;
	configure_preempt_count(t, kernel);
	btf__free(kernel);
	return 0;
}

static int configure(struct tracer *t, struct tracer_error *error)
{
	struct noisetop_bpf *skeleton = t->skeleton;
	int err = t->config.compiled ? compiled__prepare(t) : configure_kernel(t);
	if (err)
		return fail(error, t->config.compiled ? "open" : "btf", err);
	configure_watched(t);
	configure_victims(t);
	if (!t->config.entries) {
		bpf_program__set_autoload(t->skeleton->progs.entry_begin, false);
		bpf_program__set_autoload(t->skeleton->progs.entry_end, false);
	}
	uint32_t records = 0;
	for (size_t i = 0; i < t->config.cpu_count; i++)
		records += records_of(t, i);
	err = fault__configure(t);
	if (!err)
		err = bpf_map__set_max_entries(skeleton->maps.noise_cpus, t->config.cpu_count);
	if (!err)
		err = bpf_map__set_max_entries(skeleton->maps.noise_records, records);
	return err ? fail(error, "open", err) : 0;
}

static int open_object(struct tracer *t, struct tracer_error *error)
{
	last_message[0] = '\0';
	t->skeleton = noisetop_bpf__open();
	if (!t->skeleton)
		return fail(error, "open", -errno);
	return configure(t, error);
}

int tracer__open(struct tracer *t, const struct tracer_config *config, struct tracer_error *error)
{
	t->config = *config;
	pthread_mutex_init(&t->pass, NULL);
	pthread_mutex_init(&t->lock, NULL);
	pthread_condattr_t attributes;
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&t->wake, &attributes);
	t->cpus = calloc(config->cpu_count, sizeof(*t->cpus));
	t->baseline = calloc(config->cpu_count, sizeof(*t->baseline));
	t->closing = calloc(config->cpu_count, sizeof(*t->closing));
	if (!t->cpus || !t->baseline || !t->closing)
		return fail(error, "open", -ENOMEM);
	memcpy(t->cpus, config->cpus, config->cpu_count * sizeof(*t->cpus));
	t->config.cpus = t->cpus;
	return open_object(t, error);
}

static int map_into_memory(struct bpf_map *map, void **address, size_t *bytes)
{
	size_t page = sysconf(_SC_PAGESIZE);
	size_t size = (size_t)bpf_map__value_size(map) * bpf_map__max_entries(map);
	*bytes = (size + page - 1) / page * page;
	*address = mmap(NULL, *bytes, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);
	if (*address == MAP_FAILED) {
		*address = NULL;
		return -errno;
	}
	return 0;
}

bool tracer__note_refusal(struct tracer *t, const struct tracer_refusal *refusal, int err)
{
	if (err == -EPERM || err == -ENOMEM || !strcmp(refusal->program, ESSENTIAL) ||
	    tracer__refusal(t, refusal->program))
		return false;
	struct tracer_refusal *grown =
		realloc(t->refusals, (t->refusal_count + 1) * sizeof(*refusal));
	if (!grown)
		return false;
	t->refusals = grown;
	t->refusals[t->refusal_count++] = *refusal;
	return true;
}

/* Notes the program that the last message names, so that it is left out the next time. */
static bool note_refusal(struct tracer *t, int err)
{
	struct tracer_refusal refusal = {0};
	const char *name = strstr(last_message, "prog '");
	if (!name || sscanf(name, "prog '%63[^']': %159[^\n]", refusal.program, refusal.reason) < 1)
		return false;
	return tracer__note_refusal(t, &refusal, err);
}

/* libbpf loads all programs or none: without those that were refused it begins anew. */
static int load_what_passes(struct tracer *t, struct tracer_error *error)
{
	int err;
	while ((err = noisetop_bpf__load(t->skeleton))) {
		if (!note_refusal(t, err))
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
	if (!err && t->config.compiled && (err = compiled__create_maps(t)))
		return fail(error, "map", err);
	if (err)
		return err;
	err = map_into_memory(t->skeleton->maps.noise_cpus, (void **)&t->states, &t->states_bytes);
	if (!err)
		err = map_into_memory(t->skeleton->maps.noise_records, (void **)&t->records,
				      &t->records_bytes);
	if (err)
		return fail(error, "map", err);
	uint32_t first = 0;
	for (size_t i = 0; i < t->config.cpu_count; i++) {
		t->states[i].cpu = t->cpus[i];
		t->states[i].first_record = first;
		t->states[i].ring_records =
			i < t->config.watched_count ? t->config.ring_records : TRIGGER_RECORDS;
		first += records_of(t, i);
	}
	return 0;
}

int tracer__attach(struct tracer *t, struct tracer_error *error)
{
	int err = t->config.compiled ? compiled__attach(t) : noisetop_bpf__attach(t->skeleton);
	if (err)
		return fail(error, "attach", err);
	err = fault__attach(t);
	return err ? fail(error, "faults", err) : 0;
}

void tracer__destroy(struct tracer *t)
{
	drain__stop(t);
	fault__detach(t);
	if (t->states)
		munmap(t->states, t->states_bytes);
	if (t->records)
		munmap(t->records, t->records_bytes);
	compiled__destroy(t);
	noisetop_bpf__destroy(t->skeleton);
	free(t->refusals);
	free(t->cpus);
	free(t->baseline);
	free(t->closing);
	free(t->batch.data);
	free(t->staging.data);
	pthread_cond_destroy(&t->wake);
	pthread_mutex_destroy(&t->lock);
	pthread_mutex_destroy(&t->pass);
}
