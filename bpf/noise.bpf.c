// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The books: what is watched, the state of each watched CPU, and the rings. First in the unit. */
#include "kernel.h"
#include "noise.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Per CPU number: 1 + its place in noise_cpus, 0 where it is not watched. */
const volatile noise_u16 noise_slots[NOISE_MAX_CPUS];
/* Thread group of the victims; 0: any user task on a watched CPU is one. */
const volatile noise_u32 noise_victim_tgid;
/* Records in the first ring of a CPU: a power of two. */
const volatile noise_u32 noise_ring_records = 1024;
/* sched_switch passes prev_state since 5.18 (fa2c3254d7cf); told by the kernel's BTF. */
const volatile bool noise_switch_has_state = true;

/* Nothing reads it: it keeps in the BTF what user space looks up there and no program refers to. */
const volatile struct {
	enum noise_class class;
	enum noise_level level;
	enum noise_identity identity;
	enum noise_flag flag;
	enum noise_loss loss;
	enum noise_block_kind block_kind;
	struct noise_block block;
	struct noise_losses losses;
} noise_layout SEC(".rodata.layout") __attribute__((used));

/* Sized by the loader: a value for each watched CPU, mapped into user space. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct noise_cpu);
} noise_cpus SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct noise_event);
} noise_records SEC(".maps");

static __always_inline bool noise_is_victim(u32 pid, u32 tgid, u32 flags)
{
	if (noise_victim_tgid)
		return tgid == noise_victim_tgid;
	return pid && !(flags & PF_KTHREAD);
}

/*
 * Attached in the middle of things: learns which task is current. Once per CPU, so it is kept out
 * of line.
 */
static __noinline int noise_sync(struct noise_cpu *c)
{
	if (!c)
		return 0;
	struct task_struct *task = (void *)bpf_get_current_task();
	u32 pid = BPF_CORE_READ(task, pid);
	bool victim = noise_is_victim(pid, BPF_CORE_READ(task, tgid), BPF_CORE_READ(task, flags));
	c->tid = pid;
	c->victim_tid = victim ? pid : 0;
	BPF_CORE_READ_STR_INTO(&c->comm, task, comm);
	c->synced = 1;
	return 0;
}
