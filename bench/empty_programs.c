// SPDX-License-Identifier: Apache-2.0
/*
 * usage: empty_programs OBJECT: attaches what the kernel takes of it, writes how many, and waits for
 * a signal. They go with the process.
 */
#include <stdio.h>
#include <unistd.h>

#include <bpf/libbpf.h>

static int silent(enum libbpf_print_level level, const char *format, va_list arguments)
{
	(void)level, (void)format, (void)arguments;
	return 0;
}

int main(int argc, char **argv)
{
	struct bpf_program *program;
	int attached = 0;

	libbpf_set_print(silent);
	struct bpf_object *object = argc == 2 ? bpf_object__open_file(argv[1], NULL) : NULL;
	if (!object || bpf_object__load(object))
		return 1;
	bpf_object__for_each_program(program, object)
	{
		if (bpf_program__attach(program))
			attached++;
	}
	printf("attached %d\n", attached);
	fflush(stdout);
	pause();
	return 0;
}
