/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef RUN_DELAY_H
#define RUN_DELAY_H

#include <linux/types.h>

#define MOMENTS_BYTES (1 << 24)

enum moment_kind {
	MOMENT_WOKEN,
	MOMENT_ARRIVES, /* is switched in */
	MOMENT_DEPARTS, /* is switched out although it could go on */
};

/* One end of a wait. run_delay.py knows this layout. */
struct moment {
	__u32 tid;
	__u32 cpu;
	__u64 what;
	__u64 queued_ns; /* since when the task waits, by the clock of a run queue; 0: it does not */
	__u64 clock_ns;  /* of its run queue */
	__u64 now_ns;    /* CLOCK_MONOTONIC */
};

#endif
