/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The records that the kernel side and user space share. This is the only place that states their
 * layout: the BPF programs and _native.c include it, Python reads it from the BTF of the embedded
 * object, and a recording carries that description along. Plain C types, no implicit padding.
 */
#ifndef NOISETOP_NOISE_H
#define NOISETOP_NOISE_H

typedef unsigned char noise_u8;
typedef unsigned short noise_u16;
typedef unsigned int noise_u32;
typedef unsigned long long noise_u64;

/* Raise it when the meaning of a field changes; added fields need no new version. */
#define NOISE_LAYOUT_VERSION 1

#define NOISE_MAX_CPUS 4096
#define NOISE_COMM_LEN 16
/* Names that a CPU has emitted: places by tid, each for two, as two busy threads may share one. */
#define NOISE_NAMED_SETS 64
#define NOISE_NAMED_WAYS 2

/*
 * Where a frame lies on its CPU. A frame of one level is only ever interrupted by frames of higher
 * levels, so each level has one place of its own and the stack needs no depth counter that two
 * contexts could race for.
 */
enum noise_level {
	NOISE_LEVEL_THREAD,
	NOISE_LEVEL_WORK, /* work item, or callback, run by the thread below it */
	NOISE_LEVEL_SOFTIRQ,
	NOISE_LEVEL_SOFTIRQ_CALLBACK,
	NOISE_LEVEL_IRQ,
	NOISE_LEVEL_IRQ_NESTED, /* demultiplexed line handled inside its parent's handler */
	NOISE_LEVEL_IRQ_CALLBACK,
	NOISE_LEVEL_NMI,
	NOISE_LEVELS,
	/* Side tables: what a task does itself, or an instant. No frame of a CPU, never noise. */
	NOISE_LEVEL_SIDE = NOISE_LEVELS,
};

/*
 * Above the level in noise_event.level. Of what entered the kernel, or switched away from the
 * victim, one event carries the cost of that: the first callback of an interrupt, or the interrupt
 * itself where it ran none; the first thread of a wait.
 */
enum noise_mark {
	NOISE_MARK_ENTRY = 1 << 7,
	NOISE_MARK_OPEN = 1 << 6, /* of a wait: it goes on when the window ends */
};

/* What noise_event.id identifies, that is, how user space turns it into a name. */
enum noise_identity {
	NOISE_IDENTITY_NONE,     /* the source's name is enough */
	NOISE_IDENTITY_IRQ,      /* Linux interrupt number, action name in comm */
	NOISE_IDENTITY_SOFTIRQ,  /* softirq vector */
	NOISE_IDENTITY_FUNCTION, /* kernel text address */
	NOISE_IDENTITY_TASK,     /* tid, task name in comm */
	NOISE_IDENTITY_MHZ,      /* frequency */
};

enum noise_flag {
	NOISE_FLAG_OUTERMOST =
		1 << 0, /* took the CPU from the victim itself, not from another frame */
	NOISE_FLAG_UNHANDLED = 1 << 1, /* action on a shared line that did not own the interrupt */
	NOISE_FLAG_CONTINUED = 1 << 2, /* segment of something that goes on in a later event */
	NOISE_FLAG_THREADED = 1 << 3,  /* ran as the proper work of the thread named in comm */
	NOISE_FLAG_SELF = 1 << 4,      /* the thread that ran belongs to the victims itself */
	NOISE_FLAG_NAME = 1 << 5,      /* no interval but a struct noise_task_name */
	NOISE_FLAG_TRIGGER = 1 << 6,   /* no interval but a struct noise_trigger */
	NOISE_FLAG_WAIT = 1 << 7,      /* victim tid waited for a CPU: no interruption of its own */
};

/* The tasks whose lost time is noise. */
enum noise_victims {
	NOISE_VICTIMS_USERS,     /* any user task on a watched CPU */
	NOISE_VICTIMS_PROCESS,   /* the threads of one process */
	NOISE_VICTIMS_TREE,      /* processes and those that they start */
	NOISE_VICTIMS_CGROUP,    /* a control group (v2) and those below it */
	NOISE_VICTIMS_PROCESSES, /* the threads of several processes */
	NOISE_VICTIMS_THREADS,   /* single threads */
};

/* Why a victim did not run although it could; noise_event.level of a wait. */
enum noise_wait {
	NOISE_WAIT_PREEMPTED,
	NOISE_WAIT_WOKEN,     /* id: the waker, parent_id: its CPU */
	NOISE_WAIT_THROTTLED, /* its group has used up its CPU quota */
	/* No waits, but told in the same records. */
	NOISE_WAIT_BLOCKED, /* it sleeps at the end of the window */
	NOISE_WAIT_EXITED,  /* it has ended, or left the watched CPUs */
};

/* noise_event.object of a wait that began with a wake-up: for how long the task slept before. */
enum noise_slept {
	NOISE_SLEPT_UNKNOWN = 0, /* since before it was known */
	NOISE_SLEPT_NEW = 1,     /* not at all: it was born, or came to the watched CPUs */
};

/* What the CPU was doing when somebody triggered something. */
enum noise_context {
	NOISE_CONTEXT_TASK,
	NOISE_CONTEXT_SOFTIRQ,
	NOISE_CONTEXT_IRQ,
	NOISE_CONTEXT_NMI,
	NOISE_CONTEXT_UNKNOWN,
};

/*
 * Who woke a thread for this run: the upper half of noise_event.id of threads. A tid, or this plus
 * the context where no task did, or 0 when it was not woken. noise_event.parent_id is the CPU.
 */
enum noise_waker {
	NOISE_WAKER_CONTEXT = 1 << 24, /* above any tid */
};

/* Why an event is missing. */
enum noise_loss {
	NOISE_LOSS_RING_FULL,  /* record dropped: user space was too slow */
	NOISE_LOSS_NESTING,    /* record dropped: too many writers interrupted one another */
	NOISE_LOSS_UNBALANCED, /* exit without its entry, or entry without its exit */
	NOISE_LOSS_NEGATIVE,   /* net time came out below zero and was set to zero */
	NOISE_LOSS_SWITCH,     /* context switches that the tracepoint did not report */
	NOISE_LOSS_TRIGGER,    /* trigger dropped: its interruption is known, its cause is not */
	NOISE_LOSS_STATE, /* no memory for a task's state: its waits and wakers are not known */
	NOISE_LOSSES,
};

/*
 * The result of an attempt to stop the tick: it stopped, or what kept it on. Reasons are in the
 * order of enum tick_dep_bits (include/linux/tick.h), each one higher than its number there.
 */
enum noise_tick {
	NOISE_TICK_STOPPED,
	NOISE_TICK_POSIX_TIMER,
	NOISE_TICK_PERF_EVENTS,
	NOISE_TICK_SCHEDULER,
	NOISE_TICK_CLOCK_UNSTABLE,
	NOISE_TICK_RCU,
	NOISE_TICK_RCU_EXPEDITED,
	NOISE_TICK_OTHER,
	NOISE_TICKS,
};

/* One source of noise, as its .bpf.c file declares it. */
struct noise_source {
	char name[24];
	char trigger_of[24]; /* empty: intervals; else triggers of the events of that source */
	char class[16];      /* first step of its path: "irq", "softirq", … */
	noise_u8 id;
	noise_u8 identity; /* enum noise_identity */
	noise_u8 links;    /* records which object an event works on, by its tid and function */
	noise_u8 reserved[5];
};

/* One closed interval on one CPU: one cache line. */
struct noise_event {
	noise_u64 start_ns; /* CLOCK_MONOTONIC */
	noise_u64 gross_ns; /* end - start */
	noise_u64 net_ns;   /* excluding nested frames */
	noise_u64 id;       /* see enum noise_identity */
	union {
		char comm[NOISE_COMM_LEN];
		noise_u64 object; /* links this event to its trigger; softirq: its noise_raiser */
	};
	noise_u32 tid;        /* task that was current */
	noise_u32 victim_tid; /* 0: no task was delayed, the CPU was idle */
	noise_u16 cpu;
	noise_u16 parent_id; /* interrupt number or softirq vector of the frame around a callback */
	noise_u8 source;
	noise_u8 parent_source; /* equal to source where no frame was around it */
	noise_u8 level;         /* enum noise_level */
	noise_u8 flags;         /* enum noise_flag */
};

/*
 * Records whose lines are fetched at once, when the first of them is written: another CPU has read
 * each since it was last written, and to wait for four takes as long as to wait for one.
 */
#define NOISE_GROUP_RECORDS 4

struct noise_group {
	struct noise_event records[NOISE_GROUP_RECORDS];
};

/*
 * The last callback of an interrupt, and the interrupt: one record of a ring, of which the reader
 * makes two events.
 */
#define NOISE_MARK_PAIR (1 << 5) /* beside those of enum noise_mark */

struct noise_pair {
	noise_u64 start_ns; /* of the callback, as what follows it */
	noise_u32 gross_ns;
	noise_u32 net_ns;
	noise_u32 before_ns; /* from the beginning of the interrupt to that of the callback */
	noise_u32 after_ns;  /* from the end of the callback to that of the interrupt */
	noise_u64 id;
	noise_u64 object;
	noise_u32 outer_net_ns; /* of the interrupt */
	noise_u32 reserved;
	noise_u32 tid;
	noise_u32 victim_tid;
	noise_u16 cpu;
	noise_u16 parent_id; /* id and source of the interrupt */
	noise_u8 source;
	noise_u8 parent_source;
	noise_u8 level; /* NOISE_MARK_PAIR */
	noise_u8 flags; /* those of the interrupt */
};

/* The name of a task and what it belongs to. Shares the place of source and flags with noise_event. */
struct noise_task_name {
	noise_u64 time_ns;     /* CLOCK_MONOTONIC */
	noise_u64 cgroup;      /* id of its control group (v2) */
	noise_u32 tgid;        /* its process */
	noise_u32 parent_tgid; /* that which started it */
	noise_u32 task_flags;  /* PF_… of include/linux/sched.h */
	noise_u32 age_us;      /* since it was started, at most 2^32 - 1 */
	char comm[NOISE_COMM_LEN];
	noise_u32 tid;
	noise_u32 reserved_too;
	noise_u16 cpu;
	noise_u16 reserved_more;
	noise_u8 source;
	noise_u8 reserved_last[2];
	noise_u8 flags; /* NOISE_FLAG_NAME */
};

#define NOISE_NO_STACK 0xffffffff
#define NOISE_STACK_DEPTH 32
/* The place of a victim is told with what took its CPU from it for so long. Ticks take less. */
#define NOISE_LONG_NS 50000

/*
 * The cause of a later event: an interrupt was sent, a timer armed, work queued. Belongs to the
 * next event of noise_source.trigger_of that has the same object or, where that is 0, that happens
 * on target_cpu. Shares the place of source and flags with struct noise_event.
 *
 * The source victim_stack tells where a victim was instead: tid and user_stack are its own, and
 * time_ns and object are start_ns and gross_ns of the event that took its CPU.
 */
struct noise_trigger {
	noise_u64 time_ns; /* CLOCK_MONOTONIC */
	noise_u64 object;
	noise_u64 function; /* what is going to run */
	noise_u64 work; /* where the sender is a kworker: the item that it executed, 0 otherwise */
	noise_u64 work_function;
	noise_u32 stack;      /* key in noise_stacks, NOISE_NO_STACK where none was taken */
	noise_u32 root;       /* what the context began with, as noise_raiser.tid; 0: not known */
	noise_u32 tid;        /* task that was current */
	noise_u32 user_stack; /* key in noise_user_stacks: its own, where it is the one that acts */
	noise_u16 cpu;
	noise_u16 target_cpu;
	noise_u8 source;
	noise_u8 context; /* enum noise_context: the task is the sender only in its own */
	noise_u8 reserved_last;
	noise_u8 flags; /* NOISE_FLAG_TRIGGER */
};

/* Places for the state of tasks, by the low bits of their tids; a power of two. */
#define NOISE_TASK_PLACES 65536

/* The state kept for a task. */
struct noise_task {
	noise_u32 tid;      /* 0: a place that is free */
	noise_u32 epoch;    /* noise_cpu.wait_epoch of the CPU that it waits for */
	noise_u64 since_ns; /* waits since */
	noise_u64 left_ns;  /* sleeps since; 0: does not, or not known */
	noise_u64 slept_ns; /* before the wait: see enum noise_slept */
	noise_u32 waker;    /* see enum noise_waker */
	noise_u16 waker_cpu;
	noise_u16 wait_cpu;
	noise_u8 wait; /* enum noise_wait, plus one; 0: does not wait */
	/* The softirq that it serves while it does not run, and the callback in that. */
	noise_u8 softirq;         /* vector plus one, 0: none */
	noise_u8 callback_source; /* plus one, 0: none */
	noise_u8 standing;        /* the wait was found, not seen to begin: see wait_find() */
	noise_u64 softirq_object;
	noise_u64 callback;
	noise_u64 callback_object;
	noise_u32 user_stack;   /* key plus one: where it left its CPU; 0: none was taken */
	noise_u8 wakeup_queued; /* its waker is noted, and another CPU is going to wake it */
	noise_u8 crowded;       /* of a place: another task may have found it taken */
	noise_u8 reserved_too[2];
};

/*
 * A recording is a text header and then blocks of these kinds, each written with one call, so that
 * a file cut short loses its last block at most.
 */
enum noise_block_kind {
	NOISE_BLOCK_KIND_EVENTS,   /* struct noise_event[] */
	NOISE_BLOCK_KIND_COUNTERS, /* struct noise_cpu_counters[], since the window started */
	NOISE_BLOCK_KIND_START,    /* u64: when the measurement window started, CLOCK_MONOTONIC */
	NOISE_BLOCK_KIND_JSON,     /* what is known only later, as one JSON object */
	NOISE_BLOCK_KIND_SYMBOLS, /* kernel symbols, zlib-compressed lines "address name"; add up */
	/* u64: how many; then as many struct noise_event, as packed_records.h says, and zeros */
	NOISE_BLOCK_KIND_PACKED,
};

#define NOISE_BLOCK_MAGIC 0x6b6c6274 /* "tblk" */

/* A checksum is a CRC-32C. One of its own lets a reader trust the header and find the next block. */
struct noise_block {
	noise_u32 magic;
	noise_u32 kind;    /* enum noise_block_kind */
	noise_u64 bytes;   /* of what follows, a multiple of 8 */
	noise_u32 number;  /* of this block in its file, from 0 on */
	noise_u32 payload; /* checksum of what follows */
	noise_u32 reserved;
	noise_u32 checksum; /* of the fields above */
};

/* What is counted on a CPU beside the events. */
struct noise_cpu_counters {
	noise_u32 cpu;
	noise_u32 reserved;
	noise_u64 losses[NOISE_LOSSES];
	noise_u64 ticks[NOISE_TICKS];
};

/* An interval that has begun. */
struct noise_frame {
	noise_u64 start_ns;
	noise_u64 closed_ns; /* noise_cpu.closed_ns when it began */
	noise_u64 id;
	noise_u64 object;
	noise_u32 source;
	union {
		struct {
			union {
				noise_u16 waker_cpu; /* of threads */
				noise_u16 pending;   /* of interrupts and softirqs: when it began */
			};
			noise_u16 marked; /* the cost of entering is told by an event inside */
		};
		noise_u32 net_ns; /* of what has ended and is held; closed_ns is its end then */
	};
};

/*
 * Beside the levels that are open: the callback of an interrupt has ended, and its record waits for
 * the end of the interrupt, as the two are one.
 */
#define NOISE_HELD (1 << NOISE_LEVELS)

/* An entry into the kernel on its way. */
struct noise_entry {
	noise_u64 start_ns; /* 0: there is none, or it is not recorded */
	noise_u64 closed_ns;
	noise_u64 faults;   /* page faults that the task had met when it began */
	noise_u64 switches; /* and how often it had left a CPU */
	noise_u32 tid;
	noise_u32 reserved;
	noise_u64 reserved_too;
};

/* A record ring that one CPU writes and one user thread reads. Positions count records, unwrapped. */
struct noise_ring {
	noise_u64 head;
	noise_u64 full_at; /* no place from here on, by the reader's position when last looked up */
};

/*
 * A writer that interrupts another one on its CPU takes the next ring, so no position is ever
 * claimed twice and no atomic instruction is needed. The first ring carries nearly everything.
 */
#define NOISE_RINGS 4
#define NOISE_NESTED_RECORDS 256 /* records in each ring but the first */

/* Behind the rings of a watched CPU: places of timers, see wheel_arm.bpf.h. */
#define NOISE_WHEEL_ARMS_BITS 12
#define NOISE_WHEEL_ARMS (1 << NOISE_WHEEL_ARMS_BITS)

enum noise_raiser_root {
	NOISE_RAISER_ROOT_SOURCE = 1 << 24, /* above any tid */
};

/*
 * Who raised a softirq. One that is raised while another is served is the doing of whoever raised
 * that one: tid goes from one to the next.
 */
struct noise_raiser {
	noise_u32
		tid; /* or NOISE_RAISER_ROOT_SOURCE plus what it all began with, where no task did */
	noise_u16 id; /* of the frame in which it happened */
	noise_u8 source;
	noise_u8 context; /* enum noise_context, plus one */
};

#define NOISE_SOFTIRQS 16

/* Whether a CPU is watched. */
enum noise_watch {
	NOISE_WATCH_NONE,
	NOISE_WATCH_BEGUN,  /* its current task is not known yet */
	NOISE_WATCH_SYNCED, /* it is */
};

/*
 * The state of one CPU. Written by that CPU alone, but for the number of those that wait for it and
 * for `tails`. CPUs that are not watched have one too: triggers from them go into their rings.
 *
 * What an interrupt touches lies on three lines, as most find them out of the cache: the first one,
 * and those of the frames of levels IRQ and IRQ_CALLBACK. What a wake-up on another CPU touches lies
 * on the line before the last, so that it takes none of the others from this CPU.
 */
struct noise_cpu {
	noise_u64 closed_ns; /* net time of all frames closed so far, but for the two below */
	noise_u64 softirq_closed_ns;
	noise_u64 nmi_closed_ns;
	noise_u16 open_levels;  /* bit per enum noise_level, NOISE_HELD */
	noise_u16 writers;      /* emissions in progress on this CPU */
	noise_u32 first_record; /* of its rings, in the array of records */
	noise_u32 tid;          /* current task */
	noise_u32 victim_tid;   /* the task that is delayed now, 0: none */
	noise_u16 cpu;
	noise_u8 watch;         /* enum noise_watch */
	noise_u8 softirq_flags; /* NOISE_FLAG_THREADED where softirqs are this thread's own work */
	noise_u32 ring_mask;    /* records of the first ring, a power of two, less one */
	struct noise_ring rings[NOISE_RINGS];
	char comm[NOISE_COMM_LEN]; /* of the current kernel thread or intruder */
	noise_u64 number; /* a pointer that is kept here: the verifier multiplies no others */
	noise_u64 tick_expires_ns;   /* of the tick's timer when its function was called */
	noise_u64 spinning_since_ns; /* spinning_tid keeps this CPU busy since */
	noise_u64 pending_place; /* of the mask of its pending softirqs: kernel_number_place() */
	noise_u64 count_place;   /* the same of its preempt count, 0: not looked for yet */
	struct noise_frame frames[NOISE_LEVELS];
	noise_u64 losses[NOISE_LOSSES];
	noise_u64 ticks[NOISE_TICKS]; /* attempts to stop the tick */
	struct noise_entry entry;
	/* Hashes of tid and name emitted lately, by tid, the newest first. */
	noise_u32 named[NOISE_NAMED_SETS][NOISE_NAMED_WAYS];
	struct noise_raiser raisers[NOISE_SOFTIRQS];
	/*
	 * Victims that wait for this CPU, as the sum of two: what is counted under the lock of its
	 * run queue, as wake-ups and switches are, and what any CPU adds.
	 */
	noise_u32 waiting;
	noise_u32 waiting_moved;
	noise_u32 throttled;        /* those among them that may not run even when it is idle */
	noise_u32 softirq_timers;   /* not 0: a precise timer of the softirq has run here */
	noise_u64 wait_since_ns;    /* when the first of them began to */
	noise_u64 wait_closed_ns;   /* noise_closed() then */
	noise_u32 waiting_tid;      /* one of them, 0: none waits */
	noise_u32 waiting_next;     /* another one, 0: none is known */
	noise_u32 wait_epoch;       /* raised when nobody waits any more, whatever the counts say */
	noise_u32 spinning_tid;     /* a kernel thread that hardly sleeps, 0: none is known */
	noise_u32 adopted_tid;      /* the same, once it counts as a victim, as it spins for long */
	noise_u64 spinning_left_ns; /* sleeps since, 0: does not */
	/* User space's positions in rings[], on a line of their own. */
	noise_u64 tails[8] __attribute__((aligned(64)));
};

#endif
