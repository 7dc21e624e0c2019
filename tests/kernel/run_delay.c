// SPDX-License-Identifier: Apache-2.0
/*
 * usage: run_delay OBJECT PID: attaches, writes "ready", waits for a line, writes the struct moment[]
 * of that process.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "run_delay.h"

static int write_moment(void *context, void *moment, size_t size)
{
	(void)context;
	return fwrite(moment, size, 1, stdout) == 1 ? 0 : -1;
}

int main(int argc, char **argv)
{
	struct bpf_object *object = argc == 3 ? bpf_object__open_file(argv[1], NULL) : NULL;
	struct bpf_program *program;
	struct bpf_link *links[4];
	unsigned long long lost = 0;
	int linked = 0, zero = 0;
	char line[16];

	if (!object)
		return 1;
	int tgid = atoi(argv[2]);
	struct bpf_map *constants = bpf_object__find_map_by_name(object, ".rodata");
	if (!constants || bpf_map__set_initial_value(constants, &tgid, sizeof(tgid)) ||
	    bpf_object__load(object))
		return 1;
	bpf_object__for_each_program(program, object)
	{
		links[linked] = bpf_program__attach(program);
		if (!links[linked++])
			return 1;
	}
	printf("ready\n");
	fflush(stdout);
	if (read(STDIN_FILENO, line, sizeof(line)) < 0)
		return 1;
	while (linked)
		bpf_link__destroy(links[--linked]);
	bpf_map_lookup_elem(bpf_object__find_map_fd_by_name(object, "moments_lost"), &zero, &lost);
	if (lost)
		return 2;
	int fd = bpf_object__find_map_fd_by_name(object, "moments");
	struct ring_buffer *ring = ring_buffer__new(fd, write_moment, NULL, NULL);
	if (!ring || ring_buffer__consume(ring) < 0)
		return 1;
	ring_buffer__free(ring);
	bpf_object__close(object);
	return 0;
}
