/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The programs lay structs of the kernel over addresses with its bpf_rdonly_cast(), which is known
 * by a number in its BTF. They do not declare it, as libbpf leaves a call of a function that is
 * missing in the programs before 1.2, and Linux 5.13 to 5.15 refuse that even where it is never
 * reached: the call of a number that no helper has passes everywhere.
 */
#ifndef NOISETOP_KERNEL_CASTS_H
#define NOISETOP_KERNEL_CASTS_H

#include <stdbool.h>

struct bpf_object;
struct btf;

/* Puts the function's number into all programs, before they are loaded. 0 or -errno. */
int kernel_casts__resolve(const struct btf *kernel, const struct bpf_object *object, bool *known);

#endif
