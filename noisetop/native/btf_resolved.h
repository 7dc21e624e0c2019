/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NOISETOP_BTF_RESOLVED_H
#define NOISETOP_BTF_RESOLVED_H

#include <stdint.h>

#include <bpf/btf.h>

/* The type behind variables, typedefs and modifiers; NULL where that is void. Owned by `btf`. */
static inline const struct btf_type *btf_resolved(const struct btf *btf, uint32_t id)
{
	int resolved = btf__resolve_type(btf, id);
	return resolved < 0 ? NULL : btf__type_by_id(btf, resolved);
}

#endif
