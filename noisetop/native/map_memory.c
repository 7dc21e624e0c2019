// SPDX-License-Identifier: Apache-2.0
#include "map_memory.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/libbpf.h>

int map_memory__map(const struct bpf_map *map, int protection, void **address, size_t *bytes)
{
	size_t page = sysconf(_SC_PAGESIZE);
	size_t size = (size_t)bpf_map__value_size(map) * bpf_map__max_entries(map);
	*bytes = (size + page - 1) / page * page;
	*address = mmap(NULL, *bytes, protection, MAP_SHARED, bpf_map__fd(map), 0);
	if (*address == MAP_FAILED) {
		*address = NULL;
		return -errno;
	}
	return 0;
}
