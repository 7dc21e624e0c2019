// SPDX-License-Identifier: Apache-2.0
#include "program_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/libbpf.h>

static int change_in(struct bpf_program *program, program_code_change change, int number)
{
	size_t count = bpf_program__insn_cnt(program);
	struct bpf_insn *code = malloc(count * sizeof(*code));
	if (!code)
		return -ENOMEM;
	memcpy(code, bpf_program__insns(program), count * sizeof(*code));
	for (size_t i = 0; i < count; i++)
		change(&code[i], count - i - 1, number);
	int err = bpf_program__set_insns(program, code, count);
	free(code);
	return err;
}

int program_code__change(const struct bpf_object *object, program_code_change change, int number)
{
	struct bpf_program *program;
	int err = 0;
	bpf_object__for_each_program(program, object)
	{
		if (!err)
			err = change_in(program, change, number);
	}
	return err;
}
