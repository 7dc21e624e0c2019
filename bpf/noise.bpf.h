/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a noise source may use. A source is one <name>.bpf.c: a NOISE_SOURCE() and its programs,
 * which call noise_open() and noise_close(). All are compiled as one translation unit, so that the
 * accounting is inlined into every program and a hit costs no call.
 */
#ifndef NOISETOP_NOISE_BPF_H
#define NOISETOP_NOISE_BPF_H

#include "frontend.h"
#include "noise.h"
#include "raiser.bpf.h"
#include "ring.bpf.h"
#include "state.bpf.h"

/*
 * Declares a source, its class and its id. The loader finds all of them in this section, so neither
 * user space nor another file lists them; a class is any word, and exists once a source has it.
 */
#define NOISE_SOURCE(source, source_class, source_identity)                                        \
	NOISE_DECLARE(source, source_class, source_identity, "", 0)

/* Declares a trigger of another source: it belongs to the next event with the same object. */
#define NOISE_TRIGGER(source, triggered, source_class)                                             \
	NOISE_DECLARE(source, source_class, FUNCTION, #triggered, 0)

/* Declares a record of the object that an event of another source works on. */
#define NOISE_LINK(source, triggered, source_class)                                                \
	NOISE_DECLARE(source, source_class, FUNCTION, #triggered, 1)

#define NOISE_DECLARE(source, source_class, source_identity, triggered, link)                      \
	enum { source##_source = NOISE_SOURCE_ID(source) };                                        \
	NOISE_EXPORT(".rodata.sources")                                                            \
	const struct noise_source noise_source_##source = {                                        \
		.name = #source,                                                                   \
		.trigger_of = triggered,                                                           \
		.id = source##_source,                                                             \
		.class = source_class,                                                             \
		.identity = NOISE_IDENTITY_##source_identity,                                      \
		.links = link,                                                                     \
	}

/* The one source that every file knows, because names of tasks are emitted as its events. */
NOISE_SOURCE(thread, "thread", TASK);
/* Where victims were: see struct noise_trigger. */
NOISE_TRIGGER(victim_stack, victim, "thread");

/* A kernel thread spins that keeps a CPU busy for so long, */
#define NOISE_SPINS_NS 100000000ull
/* with no sleep that is longer than this. */
#define NOISE_NAP_NS 1000000ull

static __always_inline bool noise_is_watched(u32 cpu)
{
	u64 number = noise_number(cpu);
	return number < noise_own_cpu_count() && noise_watched_cpus[number];
}

/* The state of a CPU that is watched, or of this one: nothing is read of it. */
static __always_inline struct noise_cpu *noise_watched_cpu(u32 cpu)
{
	return noise_state_among(noise_states(), noise_own_cpu_count(), cpu);
}

/* The same of any CPU; NULL when it has none. */
static __always_inline struct noise_cpu *noise_cpu_of(u32 cpu)
{
	struct noise_cpu *c = noise_watched_cpu(cpu);
	return c && c->ring_mask ? c : NULL;
}

/* That of this CPU, watched or not. */
static __always_inline struct noise_cpu *noise_acting_cpu(void)
{
	return noise_cpu_of(bpf_get_smp_processor_id());
}

/*
 * The state of this CPU, or NULL when it is not watched. Asked of the state itself, which has the
 * answer on its first line, beside all that the programs of a watched CPU need.
 */
static __always_inline struct noise_cpu *noise_this_cpu(void)
{
	struct noise_cpu *c = noise_watched_cpu(bpf_get_smp_processor_id());
	return c && c->watch != NOISE_WATCH_NONE ? c : NULL;
}

/* The same, once it is known what runs here. */
static __always_inline struct noise_cpu *noise_synced_cpu(void)
{
	struct noise_cpu *c = noise_this_cpu();
	if (c && c->watch != NOISE_WATCH_SYNCED)
		noise_sync();
	return c;
}

/* Whether what happens on this CPU now can be noise: always in CPU mode, else around a victim. */
static __always_inline bool noise_wants(struct noise_cpu *c)
{
	return noise_own_victims() == NOISE_VICTIMS_USERS || c->victim_tid;
}

/* The same where what begins now can be noise. */
static __always_inline struct noise_cpu *noise_wanting_cpu(void)
{
	struct noise_cpu *c = noise_synced_cpu();
	return c && noise_wants(c) ? c : NULL;
}

/* The same where what ends now can be: before the first beginning nothing is open. */
static __always_inline struct noise_cpu *noise_ending_cpu(void)
{
	struct noise_cpu *c = noise_watched_cpu(bpf_get_smp_processor_id());
	return c && c->watch == NOISE_WATCH_SYNCED && noise_wants(c) ? c : NULL;
}

/* Net time of all frames closed so far: see noise_account(). */
static __always_inline u64 noise_closed(struct noise_cpu *c)
{
	return READ_ONCE(c->closed_ns) + READ_ONCE(c->softirq_closed_ns) +
	       READ_ONCE(c->nmi_closed_ns);
}

/* What of it may still change at this level, as something above it closes. */
static __always_inline u64 noise_closed_above(struct noise_cpu *c, u32 level)
{
	u64 closed_ns = READ_ONCE(c->nmi_closed_ns);
	if (level < NOISE_LEVEL_IRQ)
		closed_ns += READ_ONCE(c->closed_ns);
	if (level < NOISE_LEVEL_SOFTIRQ)
		closed_ns += READ_ONCE(c->softirq_closed_ns);
	return closed_ns;
}

/*
 * Now, and the closed time as of now. A frame of a higher level that closes between the two reads
 * would be counted on the wrong side, so look again until none did. Where interrupts are off, the
 * level is that of an interrupt.
 */
static __always_inline u64 noise_now(struct noise_cpu *c, u32 level, u64 *closed_ns)
{
	u64 now = 0, above_ns = 0;
#pragma unroll /* Linux 5.10 refuses a loop whose head follows a call */
	for (int i = 0; i < 3; i++) {
		above_ns = noise_closed_above(c, level);
		now = bpf_ktime_get_ns();
		if (above_ns == noise_closed_above(c, level))
			break;
	}
	*closed_ns = above_ns;
	if (level >= NOISE_LEVEL_IRQ)
		*closed_ns += c->closed_ns;
	if (level >= NOISE_LEVEL_SOFTIRQ)
		*closed_ns += c->softirq_closed_ns;
	return now;
}

/* A moment at which interrupts are off, with the closed time as of then. Read when it is needed. */
struct noise_moment {
	u64 now_ns; /* 0: not yet */
	u64 closed_ns;
};

static __always_inline void noise_read(struct noise_cpu *c, struct noise_moment *moment)
{
	if (!moment->now_ns)
		moment->now_ns = noise_now(c, NOISE_LEVEL_IRQ, &moment->closed_ns);
}

/*
 * Adds to the closed time. What may interrupt a softirq, or an interrupt, writes elsewhere; the
 * levels below can be interrupted by those that write to the same place, unless interrupts are off.
 */
static __always_inline void noise_account(struct noise_cpu *c, u32 level, u64 net_ns,
					  bool interrupts_off)
{
	if (level == NOISE_LEVEL_NMI)
		c->nmi_closed_ns += net_ns;
	else if (level >= NOISE_LEVEL_SOFTIRQ && level < NOISE_LEVEL_IRQ)
		c->softirq_closed_ns += net_ns;
	else if (level >= NOISE_LEVEL_IRQ || interrupts_off)
		c->closed_ns += net_ns;
	else
		__sync_fetch_and_add(&c->closed_ns, net_ns);
}

/* Records a row of a side table: an interval of the victim that runs here, and its parent. */
static __always_inline void noise_record_side(struct noise_cpu *c, u32 source, u32 parent,
					      u64 start_ns, u64 end_ns, u64 net_ns)
{
	struct noise_event event = {
		.start_ns = start_ns,
		.gross_ns = end_ns - start_ns,
		.net_ns = net_ns,
		.tid = c->tid,
		.victim_tid = c->tid,
		.cpu = c->cpu,
		.source = source,
		.parent_source = parent,
		.level = NOISE_LEVEL_SIDE,
	};
	noise_record(c, &event);
}

/* The frame that a callback of this level runs in. */
static __always_inline u32 noise_level_below(u32 level)
{
	if (level == NOISE_LEVEL_IRQ_CALLBACK)
		return NOISE_LEVEL_IRQ;
	if (level == NOISE_LEVEL_SOFTIRQ_CALLBACK)
		return NOISE_LEVEL_SOFTIRQ;
	return NOISE_LEVEL_THREAD;
}

/*
 * Whether an event carries the cost of an entry: the first callback of an interrupt is what that
 * came for. What is nested carries none, as it is part of the net time of what it interrupted; the
 * victim itself, where it delays another one, has no frame in this respect.
 */
static __always_inline bool noise_marks_entry(struct noise_cpu *c, u32 level, u32 below)
{
	struct noise_frame *frame = &c->frames[level & (NOISE_LEVELS - 1)];
	if (level == NOISE_LEVEL_IRQ_CALLBACK) {
		frame = &c->frames[NOISE_LEVEL_IRQ];
		below &= ~LEVEL_BIT(IRQ);
	}
	if (below && level > NOISE_LEVEL_WORK && c->victim_tid == c->tid)
		below &= ~(LEVEL_BIT(THREAD) | LEVEL_BIT(WORK));
	if (below || frame->marked)
		return false;
	if (level == NOISE_LEVEL_IRQ_CALLBACK) /* any other frame ends now */
		frame->marked = 1;
	return true;
}

static __always_inline void noise_fill(struct noise_cpu *c, struct noise_event *event, u32 level,
				       u8 source, u32 flags)
{
	struct noise_frame *frame = &c->frames[level & (NOISE_LEVELS - 1)];
	u32 parent = noise_level_below(level), below = c->open_levels & ((1u << level) - 1);
	struct noise_event last;
	last.cpu = c->cpu;
	last.source = source;
	last.parent_source = source;
	last.parent_id = level == NOISE_LEVEL_THREAD ? frame->waker_cpu : 0;
	if ((level == NOISE_LEVEL_IRQ_CALLBACK || level == NOISE_LEVEL_SOFTIRQ_CALLBACK) &&
	    below & 1u << parent) {
		last.parent_source = c->frames[parent].source;
		last.parent_id = c->frames[parent].id;
	}
	if (level == NOISE_LEVEL_SOFTIRQ || level == NOISE_LEVEL_SOFTIRQ_CALLBACK)
		flags |= c->softirq_flags;
	if (!below)
		flags |= NOISE_FLAG_OUTERMOST;
	last.flags = flags;
	last.level = level;
	if (noise_marks_entry(c, level, below))
		last.level |= NOISE_MARK_ENTRY;
	event->id = frame->id;
	if (flags & NOISE_FLAG_THREADED)
		__builtin_memcpy(event->comm, c->comm, sizeof(event->comm));
	else
		event->object = frame->object;
	NOISE_WORD(event, tid) = *(noise_word *)&c->tid;
	NOISE_WORD(event, cpu) = NOISE_WORD(&last, cpu);
}

/*
 * Ends a frame as of `now_ns` and accounts its net time, which is the result; `closed_ns` is the
 * closed time as of then and afterwards.
 */
static __always_inline u64 noise_end_frame(struct noise_cpu *c, u32 level, u64 now_ns,
					   u64 *closed_ns, bool interrupts_off)
{
	struct noise_frame *frame = &c->frames[level & (NOISE_LEVELS - 1)];
	u64 gross_ns = now_ns - frame->start_ns;
	u64 nested_ns = *closed_ns - frame->closed_ns;
	u64 net_ns = gross_ns - nested_ns;
	if (nested_ns > gross_ns) {
		noise_lose(c, NOISE_LOSS_NEGATIVE);
		net_ns = 0;
	}
	c->open_levels &= ~(1u << level | (level == NOISE_LEVEL_IRQ ? NOISE_HELD : 0));
	*closed_ns += net_ns;
	noise_account(c, level, net_ns, interrupts_off);
	return net_ns;
}

/* Records a frame that has ended. NULL when there is no place; then noise_commit() in either case. */
static __always_inline struct noise_event *noise_record_frame(struct noise_cpu *c, u32 level,
							      u8 source, u32 flags, u64 now_ns,
							      u64 net_ns, u32 *writer)
{
	struct noise_frame *frame = &c->frames[level & (NOISE_LEVELS - 1)];
	struct noise_event *event = noise_claim(c, writer, 1);
	if (event) {
		event->start_ns = frame->start_ns;
		event->gross_ns = now_ns - frame->start_ns;
		event->net_ns = net_ns;
		noise_fill(c, event, level, source, flags);
	}
	return event;
}

/* Ends and records a frame where interrupts are off, as of `now_ns`: see noise_end_frame(). */
static __always_inline struct noise_event *noise_close_at(struct noise_cpu *c, u32 level, u8 source,
							  u32 flags, u64 now_ns, u64 *closed_ns,
							  u32 *writer)
{
	u64 net_ns = noise_end_frame(c, level, now_ns, closed_ns, true);
	return noise_record_frame(c, level, source, flags, now_ns, net_ns, writer);
}

static __always_inline struct noise_event *noise_close(struct noise_cpu *c, u32 level, u8 source,
						       u32 flags, u32 *writer)
{
	u64 closed_ns, now_ns = noise_now(c, level, &closed_ns);
	u64 net_ns = noise_end_frame(c, level, now_ns, &closed_ns, false);
	return noise_record_frame(c, level, source, flags, now_ns, net_ns, writer);
}

static __always_inline void noise_close_and_commit(struct noise_cpu *c, u32 level, u8 source,
						   u32 flags)
{
	u32 writer;
	struct noise_event *event = noise_close(c, level, source, flags, &writer);
	noise_commit(c, event, writer);
}

/* The user stack of the current task; a kernel thread has none. */
static __always_inline u32 noise_user_stack(void *ctx)
{
	if (!noise_own_takes_stacks())
		return NOISE_NO_STACK;
	struct task_struct *task = (void *)bpf_get_current_task();
	if (BPF_CORE_READ(task, flags) & PF_KTHREAD)
		return NOISE_NO_STACK;
	int stack = bpf_get_stackid(ctx, &noise_user_stacks, BPF_F_USER_STACK);
	return stack < 0 ? NOISE_NO_STACK : stack;
}

/* Records where a victim was while something else had its CPU. Out of line, as that is rare. */
NOISE_FUNCTION int noise_record_victim(u64 start_ns, u64 gross_ns, u32 tid, u32 stack)
{
	struct noise_cpu *c = noise_find_this_cpu();
	u32 writer;
	if (!c)
		return 0;
	struct noise_trigger *record = (void *)noise_claim(c, &writer, 0);
	if (record) {
		__builtin_memset(record, 0, sizeof(*record));
		record->time_ns = start_ns;
		record->object = gross_ns;
		record->stack = NOISE_NO_STACK;
		record->user_stack = stack;
		record->tid = tid;
		record->cpu = c->cpu;
		record->target_cpu = c->cpu;
		record->source = victim_stack_source;
		record->context = NOISE_CONTEXT_TASK;
		record->flags = NOISE_FLAG_TRIGGER;
	} else {
		noise_lose(c, NOISE_LOSS_TRIGGER);
	}
	noise_commit(c, (void *)record, writer);
	return 0;
}

/*
 * Commits what interrupted the current task. Where that was a victim and it took long, its user
 * stack is taken: the task is about to go on from there.
 */
static __always_inline void noise_commit_interrupt(void *ctx, struct noise_cpu *c,
						   struct noise_event *event, u32 writer)
{
	if (!noise_own_takes_stacks()) {
		noise_commit(c, event, writer);
		return;
	}
	u64 start_ns = 0, gross_ns = 0;
	if (event && event->flags & NOISE_FLAG_OUTERMOST && c->victim_tid &&
	    c->victim_tid == c->tid) {
		start_ns = event->start_ns;
		gross_ns = event->gross_ns;
	}
	noise_commit(c, event, writer);
	if (gross_ns < NOISE_LONG_NS)
		return;
	u32 stack = noise_user_stack(ctx);
	if (stack != NOISE_NO_STACK)
		noise_record_victim(start_ns, gross_ns, c->tid, stack);
}

/*
 * A kernel thread that spins works for somebody, as the kernel's osnoise workload does: the CPU is
 * not idle, and the thread is its victim until it sleeps. Called from what interrupts it. Out of
 * line, as that happens only where nobody is delayed.
 */
NOISE_FUNCTION int noise_adopt(void)
{
	struct noise_cpu *c = noise_find_this_cpu();
	if (!c || !c->tid || c->spinning_tid != c->tid || c->softirq_flags ||
	    c->open_levels & ~(LEVEL_BIT(THREAD) | LEVEL_BIT(WORK)) ||
	    bpf_ktime_get_ns() - c->spinning_since_ns < NOISE_SPINS_NS)
		return 0;
	u32 flags = NOISE_FLAG_CONTINUED | NOISE_FLAG_THREADED;
	struct noise_frame *frame = &c->frames[NOISE_LEVEL_THREAD];
	if (c->open_levels & LEVEL_BIT(WORK))
		noise_close_and_commit(c, NOISE_LEVEL_WORK, c->frames[NOISE_LEVEL_WORK].source,
				       flags);
	if (c->open_levels & LEVEL_BIT(THREAD))
		noise_close_and_commit(c, NOISE_LEVEL_THREAD, thread_source, flags);
	c->adopted_tid = c->tid;
	c->victim_tid = c->tid;
	/* Should what was interrupted have just read open_levels, it opens the frame again. */
	frame->start_ns = noise_now(c, NOISE_LEVEL_THREAD, &frame->closed_ns);
	return 0;
}

/* Records the callback that is held, if there is one, on its own. Out of line, as that is rare. */
NOISE_FUNCTION int noise_record_held(void)
{
	struct noise_cpu *c = noise_find_this_cpu();
	if (!c || !(c->open_levels & NOISE_HELD))
		return 0;
	struct noise_frame *frame = &c->frames[NOISE_LEVEL_IRQ_CALLBACK];
	u32 writer;
	struct noise_event *event = noise_claim(c, &writer, 1);
	if (event) {
		event->start_ns = frame->start_ns;
		event->gross_ns = frame->closed_ns - frame->start_ns;
		event->net_ns = frame->net_ns;
		noise_fill(c, event, NOISE_LEVEL_IRQ_CALLBACK, frame->source, 0);
	}
	noise_commit(c, event, writer);
	c->open_levels &= ~NOISE_HELD;
	return 0;
}

/* All of a frame but when it begins. `tag`: the source, and above it what else its word holds. */
static __always_inline struct noise_frame *noise_set_up(struct noise_cpu *c, u32 level, u64 tag,
							u64 id, u64 object)
{
	struct noise_frame *frame = &c->frames[level & (NOISE_LEVELS - 1)];
	if (!c->victim_tid && level >= NOISE_LEVEL_SOFTIRQ && level < NOISE_LEVEL_NMI &&
	    noise_victims == NOISE_VICTIMS_USERS)
		noise_adopt();
	u32 held = level == NOISE_LEVEL_IRQ || level == NOISE_LEVEL_IRQ_CALLBACK ? NOISE_HELD : 0;
	if (c->open_levels & (1u << level | held)) {
		if (c->open_levels & 1u << level)
			noise_lose(c, NOISE_LOSS_UNBALANCED);
		if (held)
			noise_record_held();
	}
	frame->id = id;
	frame->object = object;
	NOISE_WORD(frame, source) = tag;
	c->open_levels |= 1u << level;
	return frame;
}

static __always_inline void noise_open_tagged(struct noise_cpu *c, u32 level, u64 tag, u64 id,
					      u64 object)
{
	struct noise_frame *frame = noise_set_up(c, level, tag, id, object);
	/* Last, so that setting up the frame is not counted as part of it. */
	frame->start_ns = noise_now(c, level, &frame->closed_ns);
}

static __always_inline void noise_open(struct noise_cpu *c, u32 level, u32 source, u64 id,
				       u64 object)
{
	noise_open_tagged(c, level, source, id, object);
}

static __always_inline bool noise_has_open(struct noise_cpu *c, u32 level, u32 source)
{
	return c->open_levels & 1u << level &&
	       c->frames[level & (NOISE_LEVELS - 1)].source == source;
}

/* Whether `source` is what is open at `level`; else its entry was missed, and that is counted. */
static __always_inline bool noise_is_open(struct noise_cpu *c, u32 level, u32 source)
{
	if (noise_has_open(c, level, source))
		return true;
	noise_lose(c, NOISE_LOSS_UNBALANCED);
	return false;
}

static __always_inline int noise_end_softirq(void *ctx, u32 source)
{
	struct noise_cpu *c = noise_ending_cpu();
	u32 writer;
	if (!c)
		return 0;
	if (noise_has_open(c, NOISE_LEVEL_SOFTIRQ, source)) {
		raiser_note_since(c, c->frames[NOISE_LEVEL_SOFTIRQ].pending);
		struct noise_event *event = noise_close(c, NOISE_LEVEL_SOFTIRQ, source, 0, &writer);
		noise_commit_interrupt(ctx, c, event, writer);
		return 0;
	}
	noise_lose(c, NOISE_LOSS_UNBALANCED);
	return 0;
}

/* With what it began that this CPU does what it does: see struct noise_raiser. */
static __always_inline u32 noise_root(struct noise_cpu *c)
{
	if (c->open_levels & LEVEL_BIT(IRQ))
		return NOISE_RAISER_ROOT_SOURCE + c->frames[NOISE_LEVEL_IRQ].source;
	if (!(c->open_levels & LEVEL_BIT(SOFTIRQ)))
		return c->tid;
	u64 raised = c->frames[NOISE_LEVEL_SOFTIRQ].object;
	return ((struct noise_raiser *)&raised)->tid;
}

/* A callback belongs to whatever is running: an interrupt, a softirq, or the thread itself. */
static __always_inline u32 noise_callback_level(struct noise_cpu *c)
{
	if (c->open_levels & LEVEL_BIT(IRQ))
		return NOISE_LEVEL_IRQ_CALLBACK;
	if (c->open_levels & LEVEL_BIT(SOFTIRQ))
		return NOISE_LEVEL_SOFTIRQ_CALLBACK;
	return NOISE_LEVEL_WORK;
}

static __always_inline int noise_begin_callback(u32 source, u64 function, u64 object)
{
	struct noise_cpu *c = noise_wanting_cpu();
	if (!c)
		return 0;
	/* Interrupts are the many: their place is known when this is compiled. */
	if (c->open_levels & LEVEL_BIT(IRQ))
		noise_open(c, NOISE_LEVEL_IRQ_CALLBACK, source, function, object);
	else
		noise_open(c, noise_callback_level(c), source, function, object);
	return 0;
}

static __always_inline int noise_end_callback(u32 source)
{
	struct noise_cpu *c = noise_ending_cpu();
	if (!c)
		return 0;
	if (c->open_levels & LEVEL_BIT(IRQ)) {
		if (noise_is_open(c, NOISE_LEVEL_IRQ_CALLBACK, source))
			noise_close_and_commit(c, NOISE_LEVEL_IRQ_CALLBACK, source, 0);
		return 0;
	}
	u32 level = noise_callback_level(c);
	if (noise_is_open(c, level, source))
		noise_close_and_commit(c, level, source, 0);
	return 0;
}

#endif
