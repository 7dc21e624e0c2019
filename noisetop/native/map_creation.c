// SPDX-License-Identifier: Apache-2.0
#include "map_creation.h"

#include <errno.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

int map_creation__create(struct bpf_map *map)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = bpf_map__map_flags(map));
	int fd = bpf_map_create(bpf_map__type(map), bpf_map__name(map), bpf_map__key_size(map),
				bpf_map__value_size(map), bpf_map__max_entries(map), &options);
	if (fd < 0)
		return -errno;
	int err = bpf_map__reuse_fd(map, fd);
	close(fd);
	return err;
}
