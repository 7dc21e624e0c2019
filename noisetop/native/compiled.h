/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that BCC compiled on this machine: noisetop/bcc.py. */
#ifndef NOISETOP_NATIVE_COMPILED_H
#define NOISETOP_NATIVE_COMPILED_H

#include "tracer.h"

struct bpf_program;

/* One for each program of the object, in its order. -1: refused, or there is no such tracepoint. */
struct compiled_program {
	int fd;
	int link_fd;
};

int compiled__prepare(struct tracer *t);
int compiled__create_maps(struct tracer *t);
int compiled__load(struct tracer *t, const char *name, const void *code, size_t bytes,
		   struct tracer_error *error);
int compiled__attach(struct tracer *t);
void compiled__destroy(struct tracer *t);
struct compiled_program *compiled__program(struct tracer *t, const struct bpf_program *wanted);

#endif
