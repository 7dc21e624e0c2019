/* SPDX-License-Identifier: Apache-2.0 */
/* The embedded BPF object. bpftool generates its header without the structs of bpf/noise.h. */
#ifndef NOISETOP_SKELETON_H
#define NOISETOP_SKELETON_H

#include "noise.h"
#include "noisetop.skel.h"

#endif
