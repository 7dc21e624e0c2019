/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The source of softirqs, for the programs that begin and continue them. */
#ifndef NOISETOP_SOFTIRQ_BPF_H
#define NOISETOP_SOFTIRQ_BPF_H

#include "noise.bpf.h"

NOISE_SOURCE(softirq, "softirq", SOFTIRQ);

#endif
