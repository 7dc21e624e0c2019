/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NOISETOP_KERNEL_HOOKS_H
#define NOISETOP_KERNEL_HOOKS_H

struct bpf_object;
struct btf;

/*
 * Leaves out the programs whose tracepoint or walk the kernel's BTF lacks; so those that have none,
 * too. 0 or -ENOMEM.
 */
int kernel_hooks__leave_out_missing(const struct btf *kernel, const struct bpf_object *object);

#endif
