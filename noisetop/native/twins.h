/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that make up for the misses of others on their tracepoints: bpf/timer.bpf.c. They are
 * attached once a watched CPU has met what they are for.
 */
#ifndef NOISETOP_TWINS_H
#define NOISETOP_TWINS_H

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>

#include "rings.h"

struct noisetop_bpf;

/* Zero until it is started. */
struct twins {
	struct noisetop_bpf *skeleton;
	sem_t needed; /* posted once they are, or when the thread is to end */
	pthread_t thread;
	bool thread_started;
	bool stopping;
};

/* Has them not attached with the other programs. */
void twins__hold_back(const struct noisetop_bpf *skeleton);
bool twins__are_needed(const struct rings *rings);
/*
 * Attaches them if they are needed already, and else starts a thread that does when `needed` is
 * posted, with the capabilities of the calling one. What fails is no error: misses are counted.
 */
void twins__start(struct twins *twins, struct noisetop_bpf *skeleton, const struct rings *rings);
/* Nobody may post `needed` any more. */
void twins__stop(struct twins *twins);

#endif
