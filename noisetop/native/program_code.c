// SPDX-License-Identifier: Apache-2.0
#include "program_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/libbpf.h>

static int change_in(struct bpf_program *program, program_code_change change, const void *what)
{
	size_t count = bpf_program__insn_cnt(program);
	struct bpf_insn *code = malloc(count * sizeof(*code));
	if (!code)
		return -ENOMEM;
	memcpy(code, bpf_program__insns(program), count * sizeof(*code));
	for (size_t i = 0; i < count; i++)
		change(&code[i], count - i - 1, what);
	int err = bpf_program__set_insns(program, code, count);
	free(code);
	return err;
}

int program_code__change(const struct bpf_object *object, program_code_change change,
			 const void *what)
{
	struct bpf_program *program;
	int err = 0;
	bpf_object__for_each_program(program, object)
	{
		if (!err)
			err = change_in(program, change, what);
	}
	return err;
}

struct replacement {
	int placeholder;
	int number;
};

static void put(struct bpf_insn *move, size_t left, const void *what)
{
	const struct replacement *replacement = what;
	if (move->code == (BPF_ALU64 | BPF_MOV | BPF_K) && move->imm == replacement->placeholder)
		move->imm = replacement->number;
}

int program_code__put(const struct bpf_object *object, int placeholder, int number)
{
	struct replacement replacement = {placeholder, number};
	return program_code__change(object, put, &replacement);
}
