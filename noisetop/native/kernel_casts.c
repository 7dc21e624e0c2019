// SPDX-License-Identifier: Apache-2.0
#include "kernel_casts.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "placeholders.h"
#include "program_code.h"

static void resolve(struct bpf_insn *call, size_t left, const void *function)
{
	if (call->code != (BPF_JMP | BPF_CALL) || call->src_reg || call->imm != NOISE_CAST_CALL)
		return;
	call->src_reg = BPF_PSEUDO_KFUNC_CALL;
	call->imm = *(const int *)function;
}

int kernel_casts__resolve(const struct btf *kernel, const struct bpf_object *object, bool *known)
{
	int function = btf__find_by_name_kind(kernel, "bpf_rdonly_cast", BTF_KIND_FUNC);
	*known = function > 0;
	return *known ? program_code__change(object, resolve, &function) : 0;
}
