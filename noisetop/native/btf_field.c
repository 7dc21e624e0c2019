// SPDX-License-Identifier: Apache-2.0
#include "btf_field.h"

#include <string.h>

#include <bpf/btf.h>

#include "btf_resolved.h"

static long long offset_in(const struct btf *btf, const struct btf_type *type, const char *field)
{
	const struct btf_member *members =
		type && btf_is_composite(type) ? btf_members(type) : NULL;
	for (int i = 0; members && i < btf_vlen(type); i++) {
		const char *name = btf__name_by_offset(btf, members[i].name_off);
		long long offset = btf_member_bit_offset(type, i) / 8, inside = -1;
		if (!strcmp(name, field))
			return offset;
		if (!*name)
			inside = offset_in(btf, btf_resolved(btf, members[i].type), field);
		if (inside >= 0)
			return offset + inside;
	}
	return -1;
}

long long btf_field_offset(const struct btf *btf, const char *type, const char *field)
{
	int id = btf__find_by_name(btf, type);
	return id < 0 ? -1 : offset_in(btf, btf_resolved(btf, id), field);
}
