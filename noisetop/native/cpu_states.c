// SPDX-License-Identifier: Apache-2.0
#include "cpu_states.h"

#include <bpf/libbpf.h>

#include "map_creation.h"
#include "noise.h"
#include "placeholders.h"
#include "program_code.h"

int cpu_states__create(struct bpf_map *map, uint32_t count)
{
	int err = bpf_map__set_value_size(map, count * sizeof(struct noise_cpu));
	return err ? err : map_creation__create(map);
}

static void place(struct bpf_insn *load, size_t left, const void *fd)
{
	if (load->code != (BPF_LD | BPF_IMM | BPF_DW) || load->src_reg || !left)
		return;
	uint64_t high = (uint32_t)load[1].imm, low = (uint32_t)load->imm;
	if ((high << 32 | low) != NOISE_STATES_ADDRESS)
		return;
	load->src_reg = BPF_PSEUDO_MAP_VALUE;
	load->imm = *(const int *)fd;
	load[1].imm = 0; /* from its beginning */
}

int cpu_states__place(const struct bpf_map *map, const struct bpf_object *object)
{
	int fd = bpf_map__fd(map);
	return program_code__change(object, place, &fd);
}
