/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interrupts a spinning thread on purpose, in ways that are each as short as can be, so that what
 * they cost beyond their net time can be told.
 */
#ifndef NOISETOP_DISTURB_H
#define NOISETOP_DISTURB_H

#include <stddef.h>
#include <stdint.h>

/* How; a set of them. */
enum disturb {
	DISTURB_TIMER = 1 << 0,   /* a timer of its own, that wakes nobody */
	DISTURB_SLEEP = 1 << 1,   /* a timer wakes a thread on its CPU */
	DISTURB_TIMEOUT = 1 << 2, /* the tick wakes one, from a softirq */
	DISTURB_CALL = 1 << 3,    /* another CPU calls a function */
	DISTURB_WAKE = 1 << 4,    /* another CPU wakes a thread on its CPU */
	DISTURB_FAULT = 1 << 5,   /* it touches memory that is not there yet */
};

struct disturbance {
	uint32_t kinds;
	int sender_cpu;    /* the other CPU */
	uint32_t send_ns;  /* from one call, or wake-up, to the next of the other kind */
	uint32_t timer_ns; /* from a slice's beginning to the timer's end, at least */
	/* Ours. */
	int timer;
	uint32_t slices;
	char *pages;
	size_t touched;
};

/*
 * On the spinning thread, once it is bound to `cpu`: takes what is needed and starts the other
 * threads. 0 or -errno.
 */
int disturb__start(struct disturbance *d, int cpu);
/*
 * Between two slices of spinning: arms the timer, to expire in the next one. Returns what the
 * thread is to touch as that begins, or NULL.
 */
volatile char *disturb__next(struct disturbance *d);

#endif
