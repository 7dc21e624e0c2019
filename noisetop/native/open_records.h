/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of what is open at a moment: threads that delay a victim, waits, and sleep. The kernel
 * side writes them when they end; a period that ends before needs its part of them.
 */
#ifndef NOISETOP_OPEN_RECORDS_H
#define NOISETOP_OPEN_RECORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "buffer.h"
#include "rings.h"
#include "task_states.h"

/* What does not change while a trace runs. */
struct open_records {
	const struct task_states *tasks;
	bool any_task;         /* whichever task is current is a victim */
	uint8_t thread_source; /* id of the source "thread" */
};

/*
 * Appends a struct noise_event for each of them to `out`, as if it ended at `until_ns`, or, where
 * that is 0, when its CPU was looked at. To `above`, which may be NULL, it appends the interrupts
 * that those threads are in. 0 or -errno.
 */
int open_records__collect(const struct open_records *request, const struct rings *rings,
			  uint64_t until_ns, struct buffer *out, struct buffer *above);

#endif
