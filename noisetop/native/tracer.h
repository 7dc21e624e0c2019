/* SPDX-License-Identifier: Apache-2.0 */
/* The life of the BPF object: open, load, attach, drain, destroy. No Python in here. */
#ifndef NOISETOP_TRACER_H
#define NOISETOP_TRACER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "noise.h"

struct bpf_program;
struct noisetop_bpf;
struct compiled_program;

struct tracer_config {
	const uint32_t *cpus; /* the watched ones first */
	size_t watched_count;
	size_t cpu_count; /* with those from which triggers come */
	uint32_t victims; /* enum noise_victims */
	uint32_t victim_tgid;
	uint64_t victim_cgroup;
	uint32_t victim_cgroup_level;
	uint64_t csd_callback; /* address of the kernel's function for queued calls, 0: not known */
	uint64_t tick_function; /* that of the tick's timer, 0: not known */
	bool stacks;
	bool faults;
	bool entries;
	bool compiled;         /* the programs come from BCC: compiled.h */
	uint32_t ring_records; /* per watched CPU, a power of two; the others have fewer */
	int spool_fd;          /* -1: no recording */
	int drain_cpu;         /* -1: leave the drain thread where its creator may run */
	uint64_t drain_interval_ns;
	size_t batch_limit; /* bytes kept for Python, further events are lost; 0: keep none */
};

/* Bytes that grow as needed. */
struct buffer {
	char *data;
	size_t size;
	size_t capacity;
};

/* A program that is kept from this kernel: by its verifier, whose last words these are, or by us. */
struct tracer_refusal {
	char program[64];
	char reason[160];
};

struct tracer {
	struct tracer_config config;
	struct tracer_refusal *refusals;
	size_t refusal_count;
	uint32_t *cpus;
	struct noisetop_bpf *skeleton;
	struct compiled_program *compiled; /* NULL: libbpf has the programs */
	size_t compiled_count;
	struct noise_cpu *states;    /* mapped, one per watched CPU */
	struct noise_event *records; /* mapped */
	size_t states_bytes;
	size_t records_bytes;
	int *fault_fds; /* events on the watched CPUs */
	size_t fault_fd_count;

	/* Shared with the drain thread, under `lock`. */
	pthread_mutex_t pass; /* held while the rings are drained */
	pthread_mutex_t lock;
	pthread_cond_t wake;
	pthread_t thread;
	bool thread_started;
	bool stopping;
	uint64_t window_start_ns; /* 0: the books are not open yet */
	uint64_t window_end_ns;   /* 0: still open */
	struct buffer batch;
	struct buffer
		staging; /* spool mode: what goes out with the next write; drain thread only */
	struct noise_books *baseline; /* counts when the books were opened */
	struct noise_books *closing;  /* counts when they were closed */
	uint64_t batched;             /* events handed to Python or waiting for it */
	uint64_t spooled;             /* events written to the spool file or about to be */
	uint64_t lost_batch;          /* dropped because Python did not fetch */
	uint64_t lost_spool;          /* dropped because the disk took no more */
	uint64_t drains;
	uint64_t drain_cpu_ns; /* CPU time of the drain thread */
	int spool_errno;       /* first error of the spool file */
};

/* What went wrong and in which step; the text of libbpf's last complaint where there is one. */
struct tracer_error {
	const char *step;
	char detail[256];
};

int tracer__open(struct tracer *t, const struct tracer_config *config, struct tracer_error *error);
int tracer__load(struct tracer *t, struct tracer_error *error);
int tracer__attach(struct tracer *t, struct tracer_error *error);
void tracer__destroy(struct tracer *t);
/* Why the verifier refused a program itself; NULL where it did not. */
const char *tracer__refusal(const struct tracer *t, const char *program);
/* Whether this program or the other one of its pair was refused: half a pair counts nothing. */
bool tracer__is_refused(const struct tracer *t, const struct bpf_program *program);
/*
 * Notes a refusal. False where the failure is not about one program, or about the one without which
 * nothing can be accounted.
 */
bool tracer__note_refusal(struct tracer *t, const struct tracer_refusal *refusal, int err);

/* fault.c: 0 or -errno. Nothing happens unless faults are asked for. */
int fault__configure(struct tracer *t);
int fault__attach(struct tracer *t);
void fault__detach(struct tracer *t);

/* drain.c */
int drain__start(struct tracer *t);
void drain__stop(struct tracer *t);
bool drain__now(struct tracer *t);
uint64_t drain__open_books(struct tracer *t);
int drain__append(struct tracer *t, const void *block, size_t bytes);
void drain__books(struct tracer *t, struct noise_books *books);
uint64_t monotonic_ns(void);

/* libbpf's messages, the last one kept for tracer_error. */
void libbpf_log__capture(void);
const char *libbpf_log__last(void);
/* The reason in a log of the verifier: the line before its closing statistics. Cuts the text there. */
const char *verifier_log__reason(char *text);

#endif
