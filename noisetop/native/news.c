// SPDX-License-Identifier: Apache-2.0
#include "news.h"

#include <stdbool.h>

/* Beyond that a record is not noted as seen: it is picked when its like comes again. */
#define MOST_BYTES (32u << 20)
#define KIND_TRIGGER (1u << 8)
#define NO_INTERVAL (NOISE_FLAG_TRIGGER | NOISE_FLAG_NAME | NOISE_FLAG_WAIT)
#define MARKS (NOISE_MARK_ENTRY | NOISE_MARK_OPEN)

static struct news_key key_of(const struct noise_event *event)
{
	if (!(event->flags & NOISE_FLAG_TRIGGER))
		return (struct news_key){.function = event->id, .kind = 1 + event->source};
	const struct noise_trigger *trigger = (const void *)event;
	struct news_key key = {
		.function = trigger->function,
		.work_function = trigger->work_function,
		.kind = (1 + trigger->source) | KIND_TRIGGER,
	};
	if (trigger->user_stack != NOISE_NO_STACK)
		key.stack = (uint64_t)trigger->tid << 32 | trigger->user_stack;
	return key;
}

static uint32_t set_of(const struct news_key *key)
{
	uint64_t mixed = key->function ^ key->work_function * 31 ^ key->stack ^ key->kind << 32;
	return mixed * 0x9e3779b97f4a7c15ull >> 48 & (NEWS_SETS - 1);
}

static bool is_same(const struct news_key *a, const struct news_key *b)
{
	return a->function == b->function && a->kind == b->kind && a->stack == b->stack &&
	       a->work_function == b->work_function;
}

static bool is_seen(const struct news *n, const struct news_key *key)
{
	const struct news_key *ways = n->seen[set_of(key)];
	for (int way = 0; way < NEWS_WAYS; way++)
		if (is_same(&ways[way], key))
			return true;
	return false;
}

static void pick(struct news *n, const struct noise_event *event, const struct news_key *key)
{
	if (n->records.size >= MOST_BYTES || buffer__append(&n->records, event, sizeof(*event)) ||
	    !key)
		return;
	uint32_t set = set_of(key);
	n->seen[set][n->next[set]++ % NEWS_WAYS] = *key;
}

/* Whether it may name a function: kernel addresses are those of the upper half. */
static bool names_function(const struct noise_event *event)
{
	return event->flags & NOISE_FLAG_TRIGGER ||
	       (!(event->flags & NO_INTERVAL) && event->id >> 63);
}

void news__look(struct news *n, const struct noise_event *events, size_t count)
{
	for (const struct noise_event *event = events; event < events + count; event++) {
		if (event->flags & NOISE_FLAG_NAME) {
			pick(n, event, NULL);
			continue;
		}
		if (!(event->flags & NO_INTERVAL) && event->victim_tid &&
		    (event->level & ~MARKS) != NOISE_LEVEL_SIDE)
			n->noise_ns += event->net_ns;
		if (!names_function(event))
			continue;
		struct news_key key = key_of(event);
		if (!is_seen(n, &key))
			pick(n, event, &key);
	}
}
