// SPDX-License-Identifier: Apache-2.0
#include "per_cpu.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <bpf/btf.h>

static long long offset_in(const struct btf *kernel, int section_id, const char *name)
{
	const struct btf_type *section = btf__type_by_id(kernel, section_id);
	const struct btf_var_secinfo *variables = btf_var_secinfos(section);
	for (int i = 0; i < btf_vlen(section); i++) {
		const struct btf_type *variable = btf__type_by_id(kernel, variables[i].type);
		if (!strcmp(btf__name_by_offset(kernel, variable->name_off), name))
			return variables[i].offset;
	}
	return -1;
}

/* Addresses are all zero where the kernel hides them. */
static long long symbol_offset(const char *name)
{
	FILE *symbols = fopen("/proc/kallsyms", "re");
	char line[256], found[128];
	unsigned long long address, offset = 0;
	if (!symbols)
		return -1;
	while (!offset && fgets(line, sizeof(line), symbols))
		if (sscanf(line, "%llx %*c %127s", &address, found) == 2 && !strcmp(found, name))
			offset = address;
	fclose(symbols);
	return offset ? (long long)(offset & INT64_MAX) : -1;
}

long long per_cpu__offset(const struct btf *kernel, const char *name)
{
	int section = btf__find_by_name_kind(kernel, ".data..percpu", BTF_KIND_DATASEC);
	return section < 0 ? symbol_offset(name) : offset_in(kernel, section, name);
}
