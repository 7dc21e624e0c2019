// SPDX-License-Identifier: Apache-2.0
#include "shares.h"

#include <stdlib.h>
#include <string.h>

#define FEWEST 64

int segments__sum_up(struct segments *s)
{
	size_t width = s->kind_count;
	s->step = width > FEWEST ? width : FEWEST;
	size_t checkpoints = s->count / s->step + 1;
	s->sums = calloc((checkpoints + 1) * width + 1, sizeof(*s->sums));
	if (!s->sums)
		return -1;
	uint64_t *total = s->sums + checkpoints * width;
	for (size_t i = 0; i < s->count; i++) {
		if (i % s->step == 0)
			memcpy(s->sums + i / s->step * width, total, width * sizeof(*total));
		total[s->kinds[i]] += s->ends[i] - s->starts[i];
	}
	return 0;
}

/* How many of `moments`, which ascend, are at most `now`, or before it. */
static size_t up_to(const uint64_t *moments, size_t count, uint64_t now, int included)
{
	size_t first = 0;
	while (count) {
		size_t half = count / 2;
		if (moments[first + half] < now || (included && moments[first + half] == now)) {
			first += half + 1;
			count -= half + 1;
		} else {
			count = half;
		}
	}
	return first;
}

static uint64_t add(struct parts *parts, size_t kind, uint64_t ns)
{
	if (ns && !parts->has[kind]) {
		parts->has[kind] = true;
		parts->kinds[parts->count++] = kind;
	}
	parts->ns[kind] += ns;
	return ns;
}

/* Segments from one place to another, cut to the two moments. */
static uint64_t walk(const struct segments *s, size_t from, size_t to, uint64_t start_ns,
		     uint64_t end_ns, struct parts *parts)
{
	uint64_t sum_ns = 0;
	for (size_t i = from; i < to; i++) {
		uint64_t begin = s->starts[i] > start_ns ? s->starts[i] : start_ns;
		uint64_t end = s->ends[i] < end_ns ? s->ends[i] : end_ns;
		if (end > begin)
			sum_ns += add(parts, s->kinds[i], end - begin);
	}
	return sum_ns;
}

uint64_t segments__between(const struct segments *s, uint64_t start_ns, uint64_t end_ns,
			   struct parts *parts)
{
	size_t first = up_to(s->ends, s->count, start_ns, 1);
	size_t last = up_to(s->starts, s->count, end_ns, 0);
	if (last <= first)
		return 0;
	/* Whole steps between the first segment and the last one, which may be cut. */
	size_t from = first / s->step + 1, to = (last - 1) / s->step;
	if (to <= from)
		return walk(s, first, last, start_ns, end_ns, parts);
	uint64_t sum_ns = walk(s, first, from * s->step, start_ns, end_ns, parts);
	for (size_t kind = 0; kind < s->kind_count; kind++)
		sum_ns += add(parts, kind,
			      s->sums[to * s->kind_count + kind] -
				      s->sums[from * s->kind_count + kind]);
	return sum_ns + walk(s, to * s->step, last, start_ns, end_ns, parts);
}

int parts__open(struct parts *p, size_t kind_count)
{
	p->ns = calloc(kind_count + 1, sizeof(*p->ns));
	p->has = calloc(kind_count + 1, sizeof(*p->has));
	p->kinds = calloc(kind_count + 1, sizeof(*p->kinds));
	return p->ns && p->has && p->kinds ? 0 : -1;
}

void parts__clear(struct parts *p)
{
	for (size_t i = 0; i < p->count; i++) {
		p->ns[p->kinds[i]] = 0;
		p->has[p->kinds[i]] = false;
	}
	p->count = 0;
}

void parts__close(struct parts *p)
{
	free(p->ns);
	free(p->has);
	free(p->kinds);
}
