/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program loader for what BCC compiled on this machine (noisetop/tracing/bcc.py), as raw
 * tracepoints: needs no BTF of the kernel. libbpf has parsed the embedded object, which says what
 * maps and programs there are, but loads nothing. Calls return 0 or -errno.
 */
#ifndef NOISETOP_BCC_LOADER_H
#define NOISETOP_BCC_LOADER_H

#include <stddef.h>

#include "refusals.h"
#include "tracer_error.h"

struct bpf_program;
struct noisetop_bpf;

/* One for each program of the object, in its order. -1: refused, or there is no such tracepoint. */
struct bcc_program {
	int fd;
	int link_fd;
};

/* Zero until it is opened. */
struct bcc_loader {
	struct noisetop_bpf *skeleton; /* both belong to the caller and outlive this */
	struct refusals *refusals;
	struct bcc_program *programs; /* NULL: not open, libbpf loads the programs */
	size_t count;
};

int bcc_loader__open(struct bcc_loader *loader, struct noisetop_bpf *skeleton,
		     struct refusals *refusals);
int bcc_loader__create_maps(struct bcc_loader *loader);
/* A program that the verifier refuses is added to the refusals, and no failure. */
int bcc_loader__load(struct bcc_loader *loader, const char *name, const void *code, size_t bytes,
		     struct tracer_error *error);
int bcc_loader__attach(struct bcc_loader *loader);
void bcc_loader__destroy(struct bcc_loader *loader);
/* The descriptors of one of the object's programs. */
struct bcc_program *bcc_loader__program(struct bcc_loader *loader,
					const struct bpf_program *wanted);

#endif
