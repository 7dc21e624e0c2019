/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The records of a recording that say something for the first time: a function, or who a task is.
 * They are few, and are picked while the drain thread has each record in its hands anyway, so that
 * nobody reads the file again while it grows.
 */
#ifndef NOISETOP_NEWS_H
#define NOISETOP_NEWS_H

#include <stddef.h>
#include <stdint.h>

#include "buffer.h"
#include "noise.h"

#define NEWS_SETS 1024
#define NEWS_WAYS 4

/* What a record names; all zero: nothing. */
struct news_key {
	uint64_t function;
	uint64_t work_function; /* of triggers */
	uint64_t stack;         /* task and user stack of a trigger that has one */
	uint64_t kind;          /* 1 + source, and whether it is a trigger */
};

/* Zeroed at first; whoever has it frees `records.data`. */
struct news {
	struct buffer records; /* struct noise_event[] that nobody took yet */
	uint64_t noise_ns;     /* net times of all that took time of somebody */
	struct news_key seen[NEWS_SETS][NEWS_WAYS];
	uint8_t next[NEWS_SETS]; /* the way that the next key of a set takes */
};

/* Looks at records once. Of those that name the same thing most are left out, never the first. */
void news__look(struct news *n, const struct noise_event *events, size_t count);

#endif
