/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of what is open at a moment: threads that delay a victim, waits, and sleep. The kernel side
 * writes them when they end; a period that ends before needs its part of them.
 */
#ifndef NOISETOP_OPEN_RECORDS_H
#define NOISETOP_OPEN_RECORDS_H

#include <stdint.h>

#include "buffer.h"
#include "rings.h"

/*
 * Appends a struct noise_event for each of them, as if it ended at `now_ns`; `tasks_fd` is the map
 * noise_tasks. 0 or -errno.
 */
int open_records__collect(const struct rings *rings, int tasks_fd, uint64_t now_ns,
			  struct buffer *out);

#endif
