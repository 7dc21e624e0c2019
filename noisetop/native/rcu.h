/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NOISETOP_RCU_H
#define NOISETOP_RCU_H

struct btf;

/*
 * Why a program at this tracepoint could bring the kernel to a halt; NULL: it cannot.
 *
 * Each BPF program runs as a reader of RCU. Where readers can be preempted, the end of one may find
 * that RCU still waits for this task, and has to ask for help from the softirq or an interrupt
 * (rcu_read_unlock_special(), kernel/rcu/tree_plugin.h). If the asking itself meets a tracepoint
 * with a program, then that program's end asks again: without end, unless RCU notes that it has
 * asked.
 */
const char *rcu__hazard(const struct btf *kernel, const char *tracepoint);

#endif
