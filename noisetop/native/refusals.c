// SPDX-License-Identifier: Apache-2.0
#include "refusals.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/libbpf.h>

#define ESSENTIAL "thread_switch" /* determines the victim */

const char *tracepoint_of(const struct bpf_program *program)
{
	const char *slash = strchr(bpf_program__section_name(program), '/');
	return slash ? slash + 1 : "";
}

/* Length of a tracepoint's name without the suffix that the two of a pair differ in. */
static size_t stem_of(const char *tracepoint)
{
	static const char *const ends[] = {"_entry", "_exit", "_start", "_end"};
	size_t length = strlen(tracepoint);
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		size_t end = strlen(ends[i]);
		if (length > end && !strcmp(tracepoint + length - end, ends[i]))
			return length - end;
	}
	return length;
}

const char *refusals__reason(const struct refusals *refusals, const char *program)
{
	for (size_t i = 0; i < refusals->count; i++)
		if (!strcmp(refusals->list[i].program, program))
			return refusals->list[i].reason;
	return NULL;
}

bool refusals__covers(const struct refusals *refusals, const struct bpf_object *object,
		      const struct bpf_program *program)
{
	const char *tracepoint = tracepoint_of(program);
	struct bpf_program *other;
	bpf_object__for_each_program(other, object)
	{
		size_t stem = stem_of(tracepoint);
		if (stem == stem_of(tracepoint_of(other)) &&
		    !strncmp(tracepoint, tracepoint_of(other), stem) &&
		    refusals__reason(refusals, bpf_program__name(other)))
			return true;
	}
	return false;
}

bool refusals__add(struct refusals *refusals, const struct refusal *refusal, int err)
{
	if (err == -EPERM || err == -ENOMEM || !strcmp(refusal->program, ESSENTIAL) ||
	    refusals__reason(refusals, refusal->program))
		return false;
	struct refusal *grown =
		realloc(refusals->list, (refusals->count + 1) * sizeof(*refusals->list));
	if (!grown)
		return false;
	refusals->list = grown;
	refusals->list[refusals->count++] = *refusal;
	return true;
}

bool refusals__add_logged(struct refusals *refusals, const char *message, int err)
{
	struct refusal refusal = {0};
	const char *name = strstr(message, "prog '");
	if (!name || sscanf(name, "prog '%63[^']': %159[^\n]", refusal.program, refusal.reason) < 1)
		return false;
	return refusals__add(refusals, &refusal, err);
}

void refusals__destroy(struct refusals *refusals)
{
	free(refusals->list);
	*refusals = (struct refusals){0};
}
