/* SPDX-License-Identifier: Apache-2.0 */
/* Which programs a session is asked for; what the kernel lacks or refuses is not known here. */
#ifndef NOISETOP_SELECTION_H
#define NOISETOP_SELECTION_H

#include <stdbool.h>
#include <stdint.h>

struct bpf_program;
struct noisetop_bpf;

struct selection {
	const char *left_out; /* names of programs, one a line */
	bool faults;
	bool entries;
	/* The function that carries out queued wake-ups for other CPUs, 0: not known. */
	uint64_t queued_wakeup;
};

/*
 * Takes the autoload flag from the programs that are not asked for; before loading, when that of
 * the programs that the kernel lacks is gone. Says how wakers are told.
 */
void selection__apply(const struct selection *selection, struct noisetop_bpf *skeleton);
/* Whether nothing is unknown without it on this kernel. After selection__apply(). */
bool selection__spares(const struct noisetop_bpf *skeleton, const struct bpf_program *program);
/* Whether it is asked for. After selection__apply(). */
bool selection__wants(const struct selection *selection, const struct noisetop_bpf *skeleton,
		      const struct bpf_program *program);

#endif
