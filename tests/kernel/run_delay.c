// SPDX-License-Identifier: Apache-2.0
/* usage: run_delay OBJECT: attaches, writes "ready", waits for a line, writes struct moment[]. */
#include <stdio.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "run_delay.h"

int main(int argc, char **argv)
{
	struct bpf_object *object = argc == 2 ? bpf_object__open_file(argv[1], NULL) : NULL;
	struct bpf_program *program;
	struct bpf_link *links[4];
	unsigned long long count = 0;
	int linked = 0, zero = 0;
	struct moment moment;
	char line[16];

	if (!object || bpf_object__load(object))
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
	bpf_map_lookup_elem(bpf_object__find_map_fd_by_name(object, "moment_count"), &zero, &count);
	if (count > MOMENTS)
		return 2;
	int fd = bpf_object__find_map_fd_by_name(object, "moments");
	for (__u32 place = 0; place < count; place++) {
		if (bpf_map_lookup_elem(fd, &place, &moment))
			return 1;
		fwrite(&moment, sizeof(moment), 1, stdout);
	}
	bpf_object__close(object);
	return 0;
}
