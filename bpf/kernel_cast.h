/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The number that the programs call in place of the kernel's bpf_rdonly_cast(), until the loader
 * puts in the one that the kernel's BTF has: see noisetop/native/kernel_casts.h.
 */
#ifndef NOISETOP_KERNEL_CAST_H
#define NOISETOP_KERNEL_CAST_H

#define NOISE_CAST_CALL 0x6e6f6973

#endif
