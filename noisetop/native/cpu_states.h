/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The states of all CPUs are the only value of an array: the kernel gives the programs its address,
 * and finding the state of a CPU takes no look-up. libbpf has such addresses for variables, but
 * cannot make a variable larger before 1.3.
 */
#ifndef NOISETOP_CPU_STATES_H
#define NOISETOP_CPU_STATES_H

#include <stdint.h>

struct bpf_map;
struct bpf_object;

/* Makes the array, for CPUs with numbers below `count`. 0 or -errno. */
int cpu_states__create(struct bpf_map *map, uint32_t count);
/* Puts its address into all programs, before they are loaded. 0 or -errno. */
int cpu_states__place(const struct bpf_map *map, const struct bpf_object *object);

#endif
