// SPDX-License-Identifier: Apache-2.0
#include "bcc_loader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "libbpf_log.h"
#include "map_creation.h"
#include "skeleton.h"

#define LOG_BYTES (1u << 20)
#define LICENSE "Dual BSD/GPL" /* bpf/LICENSE */

/* Constants, so that the verifier knows them and nobody can change them. */
static int create_rodata(struct bpf_map *map)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_RDONLY_PROG);
	uint32_t key = 0;
	size_t bytes;
	const void *value = bpf_map__initial_value(map, &bytes);
	int fd =
		bpf_map_create(BPF_MAP_TYPE_ARRAY, "noise_rodata", sizeof(key), bytes, 1, &options);
	if (fd < 0)
		return -errno;
	bool failed = bpf_map_update_elem(fd, &key, value, BPF_ANY) || bpf_map_freeze(fd);
	int err = failed ? -errno : bpf_map__reuse_fd(map, fd);
	close(fd);
	return err;
}

/* The other constants are read by user space only, from the object itself. */
int bcc_loader__create_maps(struct bcc_loader *loader)
{
	struct bpf_map *map, *rodata = loader->skeleton->maps.rodata;
	int err = create_rodata(rodata);
	bpf_object__for_each_map(map, loader->skeleton->obj)
	{
		bool internal = bpf_map__initial_value(map, &(size_t){0});
		if (!err && !internal && bpf_map__fd(map) < 0)
			err = map_creation__create(map);
	}
	return err;
}

struct bcc_program *bcc_loader__program(struct bcc_loader *loader, const struct bpf_program *wanted)
{
	struct bpf_program *program;
	size_t i = 0;
	bpf_object__for_each_program(program, loader->skeleton->obj)
	{
		if (program == wanted)
			return &loader->programs[i];
		i++;
	}
	return NULL;
}

int bcc_loader__open(struct bcc_loader *loader, struct noisetop_bpf *skeleton,
		     struct refusals *refusals)
{
	struct bpf_program *program;
	size_t count = 0, i = 0;
	bpf_object__for_each_program(program, skeleton->obj) count++;
	loader->skeleton = skeleton;
	loader->refusals = refusals;
	loader->programs = calloc(count, sizeof(*loader->programs));
	if (!loader->programs)
		return -ENOMEM;
	for (; i < count; i++)
		loader->programs[i].fd = loader->programs[i].link_fd = -1;
	loader->count = count;
	return 0;
}

/* The verifier writes its log only where it is asked to, and that is slow: so a second try. */
static void ask_for_reason(struct refusal *refusal, const void *code, size_t instructions)
{
	char *log = calloc(1, LOG_BYTES);
	LIBBPF_OPTS(bpf_prog_load_opts, options, .log_buf = log, .log_size = LOG_BYTES,
		    .log_level = 1);
	if (!log)
		return;
	int fd = bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, refusal->program, LICENSE, code,
			       instructions, &options);
	if (fd >= 0)
		close(fd);
	snprintf(refusal->reason, sizeof(refusal->reason), "%s", verifier_log__reason(log));
	refusal->reason[strcspn(refusal->reason, "\n")] = '\0';
	free(log);
}

int bcc_loader__load(struct bcc_loader *loader, const char *name, const void *code, size_t bytes,
		     struct tracer_error *error)
{
	struct bpf_program *program = bpf_object__find_program_by_name(loader->skeleton->obj, name);
	error->step = "load";
	if (!program)
		return -ENOENT;
	LIBBPF_OPTS(bpf_prog_load_opts, options);
	size_t instructions = bytes / sizeof(struct bpf_insn);
	int fd = bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, name, LICENSE, code, instructions,
			       &options);
	if (fd >= 0) {
		bcc_loader__program(loader, program)->fd = fd;
		return 0;
	}
	struct refusal refusal = {0};
	int err = -errno;
	snprintf(refusal.program, sizeof(refusal.program), "%s", name);
	ask_for_reason(&refusal, code, instructions);
	if (refusals__add(loader->refusals, &refusal, err))
		return 0;
	snprintf(error->detail, sizeof(error->detail), "%s: %s", name, refusal.reason);
	return err;
}

/* Leaves out the programs whose tracepoint this kernel does not have, and those left of a pair. */
int bcc_loader__attach(struct bcc_loader *loader)
{
	struct bpf_program *program;
	bpf_object__for_each_program(program, loader->skeleton->obj)
	{
		struct bcc_program *loaded = bcc_loader__program(loader, program);
		const char *tracepoint = strchr(bpf_program__section_name(program), '/');
		if (loaded->fd < 0 || !tracepoint)
			continue;
		bool refused = refusals__covers(loader->refusals, loader->skeleton->obj, program);
		if (!refused)
			loaded->link_fd = bpf_raw_tracepoint_open(tracepoint + 1, loaded->fd);
		if (loaded->link_fd >= 0)
			continue;
		if (!refused && errno != ENOENT)
			return -errno;
		close(loaded->fd);
		loaded->fd = -1;
	}
	return 0;
}

void bcc_loader__destroy(struct bcc_loader *loader)
{
	for (size_t i = 0; i < loader->count; i++) {
		if (loader->programs[i].link_fd >= 0)
			close(loader->programs[i].link_fd);
		if (loader->programs[i].fd >= 0)
			close(loader->programs[i].fd);
	}
	free(loader->programs);
}
