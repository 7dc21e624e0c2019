/* SPDX-License-Identifier: Apache-2.0 */
/* A BPF map that is there before libbpf would make it, or where libbpf does not load the programs. */
#ifndef NOISETOP_MAP_CREATION_H
#define NOISETOP_MAP_CREATION_H

struct bpf_map;

/* Makes it as the object describes it. 0 or -errno. */
int map_creation__create(struct bpf_map *map);

#endif
