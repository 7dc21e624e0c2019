/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that do not run on this kernel: its verifier refused them, or they could harm it. */
#ifndef NOISETOP_REFUSALS_H
#define NOISETOP_REFUSALS_H

#include <stdbool.h>
#include <stddef.h>

struct bpf_object;
struct bpf_program;

struct refusal {
	char program[64];
	char reason[160]; /* the verifier's last line, or ours */
};

/* Zero at first. */
struct refusals {
	struct refusal *list;
	size_t count;
};

/* Why this program itself was refused; NULL where it was not. Valid until the next one is added. */
const char *refusals__reason(const struct refusals *refusals, const char *program);
/* Whether this program or the other one of its pair was refused: half a pair counts nothing. */
bool refusals__covers(const struct refusals *refusals, const struct bpf_object *object,
		      const struct bpf_program *program);
/*
 * Adds a refusal. False where the failure `err` is not about one program, or about the one without
 * which nothing can be accounted.
 */
bool refusals__add(struct refusals *refusals, const struct refusal *refusal, int err);
/* The same for the program that libbpf's message names. */
bool refusals__add_logged(struct refusals *refusals, const char *message, int err);
void refusals__destroy(struct refusals *refusals);

/* The tracepoint of a program's section; empty where it has none. */
const char *tracepoint_of(const struct bpf_program *program);

#endif
