// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What belongs to the object as a whole: its licence, and the types that user space looks up. */
#include "frontend.h"
#include "noise.h"

#ifndef NOISE_BCC /* which loads programs one by one, beside an object of libbpf's */

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Nothing reads it: it keeps in the BTF what user space looks up there and no program refers to. */
const volatile struct {
	enum noise_level level;
	enum noise_identity identity;
	enum noise_flag flag;
	enum noise_loss loss;
	enum noise_tick tick;
	enum noise_wait wait;
	enum noise_context context;
	enum noise_waker waker;
	enum noise_block_kind block_kind;
	struct noise_trigger trigger;
	struct noise_raiser raiser;
	struct noise_task_name task_name;
	enum noise_mark mark;
	enum noise_slept slept;
	enum noise_raiser_root root;
	struct noise_block block;
	struct noise_cpu_counters counters;
} noise_layout SEC(".rodata.layout") __attribute__((used));

#endif
