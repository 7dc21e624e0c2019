/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Numbers that the programs hold until the loader puts in what it alone knows. */
#ifndef NOISETOP_PLACEHOLDERS_H
#define NOISETOP_PLACEHOLDERS_H

/* Called in place of the kernel's bpf_rdonly_cast(): see noisetop/native/kernel_casts.h. */
#define NOISE_CAST_CALL 0x6e6f6973

/* The address of the states of all CPUs: see noisetop/native/cpu_states.h. */
#define NOISE_STATES_ADDRESS 0x6e6f6973746174

/* Of the configuration, by the name of the constant: see noisetop/native/program_code.h. */
#define NOISE_CPU_COUNT_NUMBER 0x6e6f636e
#define NOISE_VICTIMS_NUMBER 0x6e6f7669
#define NOISE_TAKES_STACKS_NUMBER 0x6e6f7374
#define NOISE_PENDING_KNOWN_NUMBER 0x6e6f706b
#define NOISE_COUNT_PLACED_NUMBER 0x6e6f6370
#define NOISE_TRACES_FAULTS_NUMBER 0x6e6f6674
#define NOISE_WAKEUP_TELLS_NUMBER 0x6e6f7774
#define NOISE_QUEUED_KNOWN_NUMBER 0x6e6f716b

#endif
