/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The programs are one text for two front ends: kernel.h for libbpf, which reads the kernel's BTF,
 * and bcc.h for BCC, which compiles on the machine with the kernel's headers. Each provides
 *
 *	SEC(tracepoint)		before a program
 *	NOISE_EXPORT(section)	before what only user space reads
 *	NOISE_SOURCE_ID(source)	the number of a source
 *	NOISE_FUNCTION		before a function that is rarely called
 *	noise_states()		the states of all CPUs, by their address
 *	noise_own_…()		numbers of the configuration that are part of the code
 *	FIELD(pointer, field)	a field of an argument of a typed tracepoint
 *	BPF_CORE_READ() etc.	fields of everything else
 *	kernel_…()		what kernels keep in different places
 */
#ifndef NOISETOP_FRONTEND_H
#define NOISETOP_FRONTEND_H

#ifdef NOISE_BCC
#include "bcc.h"
#else
#include "kernel.h"
#endif

#endif
