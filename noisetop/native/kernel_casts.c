// SPDX-License-Identifier: Apache-2.0
#include "kernel_casts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "kernel_cast.h"

static int resolve_in(struct bpf_program *program, int function)
{
	size_t count = bpf_program__insn_cnt(program);
	struct bpf_insn *code = malloc(count * sizeof(*code));
	if (!code)
		return -ENOMEM;
	memcpy(code, bpf_program__insns(program), count * sizeof(*code));
	for (size_t i = 0; i < count; i++) {
		if (code[i].code != (BPF_JMP | BPF_CALL) || code[i].src_reg ||
		    code[i].imm != NOISE_CAST_CALL)
			continue;
		code[i].src_reg = BPF_PSEUDO_KFUNC_CALL;
		code[i].imm = function;
	}
	int err = bpf_program__set_insns(program, code, count);
	free(code);
	return err;
}

int kernel_casts__resolve(const struct btf *kernel, const struct bpf_object *object, bool *known)
{
	struct bpf_program *program;
	int function = btf__find_by_name_kind(kernel, "bpf_rdonly_cast", BTF_KIND_FUNC);
	int err = 0;
	*known = function > 0;
	if (!*known)
		return 0;
	bpf_object__for_each_program(program, object)
	{
		if (!err)
			err = resolve_in(program, function);
	}
	return err;
}
