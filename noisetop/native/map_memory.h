/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a BPF array in this process. */
#ifndef NOISETOP_MAP_MEMORY_H
#define NOISETOP_MAP_MEMORY_H

#include <stddef.h>

struct bpf_map;

/* Maps it, `protection` is that of mmap(); `address` is NULL on errors. 0 or -errno. */
int map_memory__map(const struct bpf_map *map, int protection, void **address, size_t *bytes);

#endif
