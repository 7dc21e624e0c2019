// SPDX-License-Identifier: Apache-2.0
#include "rcu.h"

#include <stdbool.h>
#include <string.h>

#include <bpf/btf.h>

static const struct btf_type *find_struct(const struct btf *kernel, const char *name)
{
	int id = btf__find_by_name_kind(kernel, name, BTF_KIND_STRUCT);
	return id < 0 ? NULL : btf__type_by_id(kernel, id);
}

/* The size of a member in bytes, 0: there is no such member. */
static long long member_bytes(const struct btf *kernel, const char *owner, const char *name)
{
	const struct btf_type *type = find_struct(kernel, owner);
	const struct btf_member *members = type ? btf_members(type) : NULL;
	for (int i = 0; type && i < btf_vlen(type); i++)
		if (!strcmp(btf__name_by_offset(kernel, members[i].name_off), name))
			return btf__resolve_size(kernel, members[i].type);
	return 0;
}

const char *rcu__hazard(const struct btf *kernel, const char *tracepoint)
{
	bool stops_tick = !strcmp(tracepoint, "tick_stop");
	if (!stops_tick && strcmp(tracepoint, "softirq_raise"))
		return NULL; /* RCU's asking meets no other */
	if (!member_bytes(kernel, "task_struct", "rcu_read_lock_nesting"))
		return NULL; /* readers are not preempted (no CONFIG_PREEMPT_RCU) */
	/* d41e37f26b31: one note for the softirq and the interrupt. */
	if (member_bytes(kernel, "rcu_data", "defer_qs_pending"))
		return NULL;
	/* b41642c87716: the note, a bool until then, is no longer taken back too early. */
	if (!stops_tick)
		return "until d41e37f26b31 RCU would call it without end";
	if (member_bytes(kernel, "rcu_data", "defer_qs_iw_pending") == sizeof(bool))
		return "until b41642c87716 RCU would call it without end";
	return NULL;
}
