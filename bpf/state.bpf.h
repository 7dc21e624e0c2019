/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What all programs share: the configuration, the state of each CPU, and the rings. */
#ifndef NOISETOP_STATE_BPF_H
#define NOISETOP_STATE_BPF_H

#include "frontend.h"
#include "noise.h"

#define LEVEL_BIT(level) (1u << NOISE_LEVEL_##level)

/* The fields from this one on, as a word: they are put together in a register. */
#define NOISE_WORD(record, field) (*(noise_word *)&(record)->field)
typedef u64 __attribute__((may_alias)) noise_word;

/* A page fault on its way. */
struct noise_fault {
	u64 start_ns;
	u64 since_ns;  /* runs on this CPU since */
	u64 closed_ns; /* noise_closed() then: what interrupts a fault is not the fault's */
	u64 ran_ns;    /* net, before that */
	u64 left_ns;   /* fell asleep then, 0: was preempted */
	u64 slept_ns;
	u64 slept_from_ns; /* the first time that it slept */
	u64 slept_until_ns;
	u64 done;  /* faults that the task had completed when this one began */
	u64 hints; /* pages that its hint faults had met */
	u32 tid;   /* 0: there is none */
};

#ifndef NOISE_BCC /* there noisetop/tracing/bcc.py writes the values and the map descriptors */

/* Take the stacks of whoever sends an interrupt or arms a timer, and of victims. */
const volatile bool noise_takes_stacks;
/* Who the victims are. */
const volatile enum noise_victims noise_victims;
const volatile noise_u32 noise_victim_tgid;
const volatile noise_u64 noise_victim_cgroup;
const volatile noise_u32 noise_victim_cgroup_level;
/* CPUs that have a state: those with a number below it. At most NOISE_MAX_CPUS. */
const volatile noise_u32 noise_cpu_count;
/* By CPU number. */
const volatile bool noise_watched_cpus[NOISE_MAX_CPUS];
/* The word of a CPU mask that holds all watched CPUs, and their bits in it; 0: no such word. */
const volatile noise_u32 noise_watched_word;
const volatile noise_u64 noise_watched_bits;
/* What this kernel offers, from its BTF. */
const volatile bool noise_switch_has_state = true; /* since 5.18 (fa2c3254d7cf) */
/* From a run queue to the preempt count of the same CPU. */
const volatile bool noise_preempt_count_known;
const volatile long long noise_preempt_count_offset;
/* The same to the mask of its pending softirqs, which then tells who raised one. */
const volatile bool noise_pending_known;
const volatile long long noise_pending_offset;
/* Fields are read at any address without a call: see kernel_cast(). */
const volatile bool noise_casts_known;
/* generic_smp_call_function_single_interrupt, where csd_queue_cpu reports more. */
const volatile noise_u64 noise_csd_callback;
/*
 * Wake-ups tell who made them, where csd_queue_cpu tells it of those that another CPU carries out;
 * else sched_waking does.
 */
const volatile bool noise_wakeup_tells_waker;
/* sched_ttwu_pending, where csd_queue_cpu is asked for its waker; 0: it is not. */
const volatile noise_u64 noise_queued_wakeup;
/* The function of the tick's timer; 0: not known. */
const volatile noise_u64 noise_tick_function;
/* Time the page faults of victims. */
const volatile bool noise_traces_faults;

/*
 * The states of all CPUs, by CPU number, as the only value: see noise_states(). Mapped into user
 * space, and made by the loader.
 */
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
	__type(value, struct noise_group);
} noise_records SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(key_size, sizeof(u32));
	__uint(value_size, NOISE_STACK_DEPTH * sizeof(u64));
	__uint(max_entries, 16384);
} noise_stacks SEC(".maps");

/*
 * Those of programs. On their own, as there is no end to them where addresses are random: they must
 * not crowd out the kernel's. Made larger by the loader when stacks are taken.
 */
struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(key_size, sizeof(u32));
	__uint(value_size, NOISE_STACK_DEPTH * sizeof(u64));
	__uint(max_entries, 1);
} noise_user_stacks SEC(".maps");

/*
 * Thread groups of the victims, or threads, where there can be more than one. Made larger by the
 * loader then.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u32);
} noise_victim_ids SEC(".maps");

/*
 * By place: see task_state.bpf.h. All memory is taken beforehand: task storage would be simpler, but
 * it allocates when it is first used, and the allocator refills itself with an interrupt on the CPU
 * that asked, which may be a watched one. Mapped into user space.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, NOISE_TASK_PLACES);
	__type(key, u32);
	__type(value, struct noise_task);
} noise_tasks SEC(".maps");

/* The tid of the task that a place belongs to, by place. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, NOISE_TASK_PLACES);
	__type(key, u32);
	__type(value, u32);
} noise_owners SEC(".maps");

/* By tid, of tasks whose place belongs to another one. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, u32);
	__type(value, struct noise_task);
} noise_crowded SEC(".maps");

/* The page fault of the task that runs on a CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct noise_fault);
} noise_open_faults SEC(".maps");

/* Those of tasks that do not run, by tid. Made larger by the loader when faults are traced. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct noise_fault);
} noise_parked_faults SEC(".maps");

#endif

/*
 * The number of a CPU in a register of its own, in full: what is compared there is what the verifier
 * knows about it from then on.
 */
static __always_inline u64 noise_number(u32 cpu)
{
	u64 number = cpu;
	asm volatile("" : "+r"(number));
	return number;
}

/*
 * The state of a CPU among so many, or NULL when there is none. As one address: the compiler would
 * add its two parts anew for each field.
 */
static __always_inline struct noise_cpu *noise_state_among(struct noise_cpu *states, u64 count,
							   u32 cpu)
{
	u64 number = noise_number(cpu);
	if (!states || number >= count)
		return NULL;
	struct noise_cpu *c = states + number;
	asm volatile("" : "+r"(c));
	if (!c) /* which the compiler does not know */
		__builtin_unreachable();
	return c;
}

/* The state of a CPU, or NULL when it has none, for functions out of line: see noise_states(). */
static __always_inline struct noise_cpu *noise_find_cpu(u32 cpu)
{
	u32 first = 0;
	struct noise_cpu *states = bpf_map_lookup_elem(&noise_cpus, &first);
	struct noise_cpu *c = noise_state_among(states, noise_cpu_count, cpu);
	return c && c->ring_mask ? c : NULL;
}

/* The same of this CPU. */
static __always_inline struct noise_cpu *noise_find_this_cpu(void)
{
	return noise_find_cpu(bpf_get_smp_processor_id());
}

/* `typed`: in a program, of a task whose fields are read without a helper. */
static __always_inline bool noise_in_victim_cgroup(struct task_struct *task, bool typed)
{
	u32 level = noise_victim_cgroup_level;
	struct cgroup *cgroup = typed ? FIELD(FIELD(task, cgroups), dfl_cgrp)
				      : BPF_CORE_READ(task, cgroups, dfl_cgrp);
	if ((typed ? FIELD(cgroup, level) : BPF_CORE_READ(cgroup, level)) < level)
		return false;
	return kernel_cgroup_ancestor(cgroup, level, typed && noise_casts_known) ==
	       noise_victim_cgroup;
}

static __always_inline bool noise_is_victim(struct task_struct *task, u32 tid, u32 tgid, u32 flags,
					    bool typed)
{
	u64 victims = typed ? noise_own_victims() : noise_victims; /* read once */
	if (victims == NOISE_VICTIMS_PROCESS)
		return tgid == noise_victim_tgid;
	if (victims == NOISE_VICTIMS_TREE || victims == NOISE_VICTIMS_PROCESSES)
		return bpf_map_lookup_elem(&noise_victim_ids, &tgid);
	if (victims == NOISE_VICTIMS_THREADS)
		return bpf_map_lookup_elem(&noise_victim_ids, &tid);
	if (victims == NOISE_VICTIMS_CGROUP)
		return tgid && noise_in_victim_cgroup(task, typed);
	/* Whose a CPU is may be said of a kernel thread as well. */
	return tgid && (!(flags & PF_KTHREAD) || tgid == noise_victim_tgid);
}

/*
 * The same for a task that a program is passed, with a kernel thread of this CPU that was adopted as
 * a victim: see noise_adopt().
 */
static __always_inline bool noise_is_victim_on(struct noise_cpu *c, struct task_struct *task,
					       u32 tid, u32 tgid, u32 flags)
{
	if (noise_is_victim(task, tid, tgid, flags, true))
		return true;
	return noise_own_victims() == NOISE_VICTIMS_USERS && c->adopted_tid &&
	       c->adopted_tid == tid;
}

/* A struct noise_raiser of which only the context is set. */
#define RAISER_IN(context) ((NOISE_CONTEXT_##context + 1ull) << 56)

/* Finds the mask of pending softirqs. Who raised those that are pending already, nobody knows. */
static __always_inline void noise_find_pending(struct noise_cpu *c)
{
	u16 pending = 0;
	if (!noise_pending_known)
		return;
	u64 address = (u64)kernel_per_cpu_place(kernel_current()) + noise_pending_offset;
	c->pending_place = kernel_number_place(address);
	bpf_probe_read_kernel(&pending, sizeof(pending), (void *)address);
	for (u32 i = 0; i < NOISE_SOFTIRQS; i++)
		if (pending & 1u << i)
			NOISE_WORD(&c->raisers[i], tid) = RAISER_IN(UNKNOWN);
}

/*
 * Learns which task is current after attaching. Once per CPU, so it is kept out of line.
 */
NOISE_FUNCTION int noise_sync(void)
{
	struct noise_cpu *c = noise_find_this_cpu();
	if (!c)
		return 0;
	struct task_struct *task = (void *)bpf_get_current_task();
	noise_find_pending(c);
	u32 pid = BPF_CORE_READ(task, pid);
	c->tid = pid;
	bool victim = noise_is_victim(task, pid, BPF_CORE_READ(task, tgid),
				      BPF_CORE_READ(task, flags), false);
	c->victim_tid = victim ? pid : 0;
	c->spinning_tid = pid;
	c->spinning_since_ns = bpf_ktime_get_ns();
	c->spinning_left_ns = 0;
	BPF_CORE_READ_STR_INTO(&c->comm, task, comm);
	c->watch = NOISE_WATCH_SYNCED;
	return 0;
}

#endif
