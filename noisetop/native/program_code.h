/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The instructions of the programs before they are loaded. Functions that the programs have out of
 * line are not among them: libbpf adds these when it loads.
 */
#ifndef NOISETOP_PROGRAM_CODE_H
#define NOISETOP_PROGRAM_CODE_H

#include <stddef.h>

struct bpf_insn;
struct bpf_object;

/* Changes an instruction, which `left` others follow. */
typedef void (*program_code_change)(struct bpf_insn *instruction, size_t left, const void *what);

/* Passes each instruction of all programs, with `what`. 0 or -errno. */
int program_code__change(const struct bpf_object *object, program_code_change change,
			 const void *what);
/* Puts a number where the programs have a placeholder: it costs no reading of memory. 0 or -errno. */
int program_code__put(const struct bpf_object *object, int placeholder, int number);

#endif
