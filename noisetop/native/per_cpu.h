/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NOISETOP_PER_CPU_H
#define NOISETOP_PER_CPU_H

struct btf;

/*
 * Where a per-CPU variable of the kernel lies, from a beginning that is the same for all of them;
 * -1 where neither BTF nor /proc/kallsyms has it. Not every kernel's BTF knows per-CPU variables:
 * pahole writes them down since 1.18.
 */
long long per_cpu__offset(const struct btf *kernel, const char *name);

#endif
