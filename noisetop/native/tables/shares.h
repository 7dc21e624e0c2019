/* SPDX-License-Identifier: Apache-2.0 */
/* Which part of a stretch of time each of several kinds had. */
#ifndef NOISETOP_TABLES_SHARES_H
#define NOISETOP_TABLES_SHARES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Stretches without overlap, in their order, and of what kind each is. */
struct segments {
	uint64_t *starts, *ends, *kinds;
	size_t count, kind_count;
	size_t step;    /* segments from one checkpoint to the next */
	uint64_t *sums; /* by checkpoint and kind: all time before it */
};

/* Of one wait. */
struct parts {
	uint64_t *ns;  /* by kind; all zero between two waits */
	bool *has;     /* by kind: whether it has a part */
	size_t *kinds; /* that have one, as they were found */
	size_t count;
};

/* Allocates the checkpoints, which take about as much memory as the segments. -1 without memory. */
int segments__sum_up(struct segments *s);
/* Adds the part of each kind between two moments, and returns their sum. */
uint64_t segments__between(const struct segments *s, uint64_t start_ns, uint64_t end_ns,
			   struct parts *parts);

int parts__open(struct parts *p, size_t kind_count);
void parts__clear(struct parts *p);
void parts__close(struct parts *p);

#endif
