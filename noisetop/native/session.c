// SPDX-License-Identifier: Apache-2.0
/* The Python face of a tracer: noisetop._native.Session. */
#define Py_LIMITED_API 0x030b0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "batch.h"
#include "clock.h"
#include "open_records.h"
#include "session.h"
#include "skeleton.h"
#include "tracer.h"
#include "translation_unit.h"

struct session {
	PyObject_HEAD struct tracer tracer;
	PyObject *left_out; /* text of its selection */
	bool opened;
	bool attached;
};

static PyObject *tracer_error_type;

/* The one place where an errno of ours becomes an exception: args are (errno, step, detail). */
static PyObject *raise_error(int err, const char *step, const char *detail)
{
	PyObject *arguments = Py_BuildValue("(iss)", -err, step, detail);
	if (arguments) {
		PyErr_SetObject(tracer_error_type, arguments);
		Py_DECREF(arguments);
	}
	return NULL;
}

static struct tracer *tracer_of(PyObject *self)
{
	struct session *session = (struct session *)self;
	if (session->opened)
		return &session->tracer;
	PyErr_SetString(PyExc_ValueError, "the session is closed");
	return NULL;
}

static int parse_cpus(PyObject *sequence, uint32_t **cpus, size_t *count)
{
	Py_ssize_t size = PySequence_Size(sequence);
	if (size <= 0) {
		if (!PyErr_Occurred())
			PyErr_SetString(PyExc_ValueError, "no CPU to watch");
		return -1;
	}
	*cpus = PyMem_Malloc(size * sizeof(**cpus));
	*count = size;
	for (Py_ssize_t i = 0; *cpus && i < size; i++) {
		PyObject *item = PySequence_GetItem(sequence, i);
		unsigned long cpu = item ? PyLong_AsUnsignedLong(item) : 0;
		Py_XDECREF(item);
		if (PyErr_Occurred())
			return -1;
		if (cpu >= NOISE_MAX_CPUS) {
			PyErr_Format(PyExc_ValueError, "CPU %lu is beyond the limit of %d", cpu,
				     NOISE_MAX_CPUS);
			return -1;
		}
		(*cpus)[i] = cpu;
	}
	return *cpus ? 0 : -1;
}

/* Names of programs that are not loaded, which the session keeps. */
static int parse_left_out(struct session *session, PyObject *names, struct tracer_config *config)
{
	PyObject *newline = PyUnicode_FromString("\n");
	session->left_out = newline ? PyUnicode_Join(newline, names) : NULL;
	Py_XDECREF(newline);
	if (session->left_out)
		config->selection.left_out = PyUnicode_AsUTF8AndSize(session->left_out, NULL);
	return config->selection.left_out ? 0 : -1;
}

static int session_open(struct session *session, const struct tracer_config *config)
{
	struct tracer_error error = {0};
	struct tracer *t = &session->tracer;
	int err;
	session->opened = true;
	Py_BEGIN_ALLOW_THREADS;
	err = tracer__open(t, config, &error);
	if (!err)
		err = tracer__load(t, &error);
	Py_END_ALLOW_THREADS;
	if (!err) {
		t->drain.config.open = (struct open_records){
			.tasks = &t->tasks,
			.any_task = config->victims == NOISE_VICTIMS_USERS,
			.thread_source = t->skeleton->rodata_sources->noise_source_thread.id,
		};
		err = drain__start(&t->drain);
		error.step = "thread";
	}
	if (err)
		raise_error(err, error.step, error.detail);
	return err ? -1 : 0;
}

/* Lists of CPUs: the watched ones first, then those from which triggers may come. */
static int parse_all_cpus(PyObject *watched, PyObject *others, struct tracer_config *config,
			  uint32_t **cpus)
{
	PyObject *all = PySequence_Concat(watched, others);
	Py_ssize_t count = PySequence_Size(watched);
	if (!all || count <= 0) {
		if (!PyErr_Occurred())
			PyErr_SetString(PyExc_ValueError, "no CPU to watch");
		Py_XDECREF(all);
		return -1;
	}
	config->watched_count = count;
	int err = parse_cpus(all, cpus, &config->cpu_count);
	Py_DECREF(all);
	return err;
}

static int session_init(PyObject *self, PyObject *args, PyObject *kwargs)
{
	static char *names[] = {"cpus",          "others",
				"victims",       "victim_tgid",
				"victim_cgroup", "victim_cgroup_level",
				"csd_callback",  "tick_function",
				"queued_wakeup", "left_out",
				"stacks",        "faults",
				"entries",       "compiled",
				"ring_records",  "spool_fd",
				"drain_cpu",     "drain_interval_ns",
				"batch_limit",   NULL};
	struct session *session = (struct session *)self;
	PyObject *watched, *others, *left_out;
	uint32_t *cpus = NULL;
	struct tracer_config config = {.drain = {.spool_fd = -1, .cpu = -1}};
	unsigned long long cgroup, callback, tick, wakeup, interval_ns, limit;
	int stacks, faults, entries, compiled;
	if (!PyArg_ParseTupleAndKeywords(
		    args, kwargs, "OOIIKIKKKOppppIiiKK", names, &watched, &others, &config.victims,
		    &config.victim_tgid, &cgroup, &config.victim_cgroup_level, &callback, &tick,
		    &wakeup, &left_out, &stacks, &faults, &entries, &compiled, &config.ring_records,
		    &config.drain.spool_fd, &config.drain.cpu, &interval_ns, &limit))
		return -1;
	if (session->opened || config.ring_records < NOISE_GROUP_RECORDS ||
	    config.ring_records & (config.ring_records - 1)) {
		PyErr_SetString(PyExc_ValueError, "ring_records must be a power of two from 4 on");
		return -1;
	}
	config.victim_cgroup = cgroup;
	config.csd_callback = callback;
	config.tick_function = tick;
	config.stacks = stacks;
	config.selection.faults = faults;
	config.selection.entries = entries;
	config.selection.queued_wakeup = compiled ? 0 : wakeup;
	config.compiled = compiled;
	config.drain.interval_ns = interval_ns;
	config.drain.batch_limit = limit;
	int err = parse_left_out(session, left_out, &config);
	if (!err)
		err = parse_all_cpus(watched, others, &config, &cpus);
	config.cpus = cpus;
	if (!err)
		err = session_open(session, &config);
	PyMem_Free(cpus);
	return err;
}

static PyObject *session_attach(PyObject *self, PyObject *unused)
{
	struct tracer *t = tracer_of(self);
	struct tracer_error error = {0};
	int err;
	if (!t)
		return NULL;
	Py_BEGIN_ALLOW_THREADS;
	err = tracer__attach(t, &error);
	Py_END_ALLOW_THREADS;
	if (err)
		return raise_error(err, error.step, error.detail);
	Py_RETURN_NONE;
}

static PyObject *session_start_window(PyObject *self, PyObject *unused)
{
	struct tracer *t = tracer_of(self);
	if (!t)
		return NULL;
	uint64_t start_ns;
	Py_BEGIN_ALLOW_THREADS;
	start_ns = tracer__start_window(t);
	Py_END_ALLOW_THREADS;
	return PyLong_FromUnsignedLongLong(start_ns);
}

static PyObject *session_stop_window(PyObject *self, PyObject *unused)
{
	struct tracer *t = tracer_of(self);
	if (!t)
		return NULL;
	Py_BEGIN_ALLOW_THREADS;
	drain__stop(&t->drain);
	Py_END_ALLOW_THREADS;
	return PyLong_FromUnsignedLongLong(t->drain.window_end_ns);
}

static void give_back(PyObject *self, struct buffer *rows)
{
	struct session *session = (struct session *)self;
	if (session->opened)
		drain__give_back(&session->tracer.drain, rows);
	else
		free(rows->data);
}

static PyObject *session_read(PyObject *self, PyObject *unused)
{
	struct tracer *t = tracer_of(self);
	if (!t)
		return NULL;
	Py_BEGIN_ALLOW_THREADS;
	drain__now(&t->drain);
	Py_END_ALLOW_THREADS;
	struct buffer rows = drain__take_batch(&t->drain);
	return batch__view(self, &rows, give_back);
}

static PyObject *session_news(PyObject *self, PyObject *unused)
{
	struct tracer *t = tracer_of(self);
	if (!t)
		return NULL;
	struct buffer records;
	Py_BEGIN_ALLOW_THREADS;
	records = drain__take_news(&t->drain);
	Py_END_ALLOW_THREADS;
	PyObject *bytes = PyBytes_FromStringAndSize(records.data, records.size);
	free(records.data);
	return bytes;
}

static PyObject *session_announce_news(PyObject *self, PyObject *args)
{
	int fd;
	double interval_s;
	struct tracer *t = tracer_of(self);
	if (!t || !PyArg_ParseTuple(args, "id", &fd, &interval_s))
		return NULL;
	Py_BEGIN_ALLOW_THREADS;
	drain__announce_news(&t->drain, fd, interval_s * NS_PER_S);
	Py_END_ALLOW_THREADS;
	Py_RETURN_NONE;
}

/* What is open, as records that end at a moment, or where that is 0 when it was looked at. */
static PyObject *session_open_records(PyObject *self, PyObject *args)
{
	unsigned long long until_ns;
	struct tracer *t = tracer_of(self);
	if (!t || !PyArg_ParseTuple(args, "K", &until_ns))
		return NULL;
	struct buffer records = {0}, above = {0};
	int err;
	Py_BEGIN_ALLOW_THREADS;
	err = open_records__collect(&t->drain.config.open, &t->rings, until_ns, &records, &above);
	Py_END_ALLOW_THREADS;
	PyObject *result =
		err ? raise_error(err, "open", "")
		    : Py_BuildValue("y#y#", records.data ? records.data : "",
				    (Py_ssize_t)records.size, above.data ? above.data : "",
				    (Py_ssize_t)above.size);
	free(records.data);
	free(above.data);
	return result;
}

static PyObject *session_cpu_counters(PyObject *self, PyObject *unused)
{
	struct tracer *t = tracer_of(self);
	if (!t)
		return NULL;
	size_t bytes = t->rings.cpu_count * sizeof(struct noise_cpu_counters);
	struct noise_cpu_counters *counters = PyMem_Malloc(bytes);
	if (!counters)
		return PyErr_NoMemory();
	drain__counters(&t->drain, counters);
	PyObject *result = PyBytes_FromStringAndSize((char *)counters, bytes);
	PyMem_Free(counters);
	return result;
}

static PyObject *session_counters(PyObject *self, PyObject *unused)
{
	struct tracer *t = tracer_of(self);
	if (!t)
		return NULL;
	pthread_mutex_lock(&t->drain.lock);
	PyObject *result = Py_BuildValue("{s:K,s:K,s:K,s:K,s:K,s:K,s:i}", "records",
					 (unsigned long long)rings__written(&t->rings), "batched",
					 (unsigned long long)t->drain.batched, "spooled",
					 (unsigned long long)t->drain.spooled, "lost_batch",
					 (unsigned long long)t->drain.lost_batch, "lost_spool",
					 (unsigned long long)t->drain.lost_spool, "noise_ns",
					 (unsigned long long)t->drain.noise_ns, "spool_errno",
					 t->drain.spool.error);
	pthread_mutex_unlock(&t->drain.lock);
	return result;
}

static PyObject *describe_program(struct tracer *t, const struct bpf_program *program)
{
	struct bpf_prog_info info = {0};
	uint32_t size = sizeof(info);
	int fd = t->bcc.programs ? bcc_loader__program(&t->bcc, program)->fd
				 : bpf_program__fd(program);
	bool loaded = fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &size);
	bool wanted = selection__wants(&t->config.selection, t->skeleton, program);
	bool spared = selection__spares(t->skeleton, program);
	const char *section = bpf_program__section_name(program);
	const char *tracepoint = strchr(section, '/');
	const char *refusal = refusals__reason(&t->refusals, bpf_program__name(program));
	return Py_BuildValue("{s:s,s:s,s:N,s:N,s:N,s:s,s:K,s:K,s:K}", "name",
			     bpf_program__name(program), "tracepoint",
			     tracepoint ? tracepoint + 1 : section, "loaded",
			     PyBool_FromLong(loaded), "wanted", PyBool_FromLong(wanted), "spared",
			     PyBool_FromLong(spared), "refusal", refusal ? refusal : "",
			     "run_count", (unsigned long long)info.run_cnt, "run_time_ns",
			     (unsigned long long)info.run_time_ns, "recursion_misses",
			     (unsigned long long)info.recursion_misses);
}

static PyObject *session_programs(PyObject *self, PyObject *unused)
{
	struct tracer *t = tracer_of(self);
	PyObject *list = t ? PyList_New(0) : NULL;
	if (!list)
		return NULL;
	struct bpf_program *program;
	bpf_object__for_each_program(program, t->skeleton->obj)
	{
		PyObject *entry = describe_program(t, program);
		int err = entry ? PyList_Append(list, entry) : -1;
		Py_XDECREF(entry);
		if (err) {
			Py_DECREF(list);
			return NULL;
		}
	}
	return list;
}

static PyObject *addresses_of(const uint64_t *addresses)
{
	PyObject *list = PyList_New(0);
	for (int i = 0; list && i < NOISE_STACK_DEPTH && addresses[i]; i++) {
		PyObject *address = PyLong_FromUnsignedLongLong(addresses[i]);
		if (!address || PyList_Append(list, address))
			Py_CLEAR(list);
		Py_XDECREF(address);
	}
	return list;
}

/* All stacks so far: addresses by id, innermost first. */
static PyObject *session_stacks(PyObject *self, PyObject *unused)
{
	struct tracer *t = tracer_of(self);
	PyObject *stacks = t ? PyDict_New() : NULL;
	if (!stacks)
		return NULL;
	int fd = bpf_map__fd(t->skeleton->maps.noise_stacks);
	uint32_t id, *previous = NULL;
	while (!bpf_map_get_next_key(fd, previous, &id)) {
		uint64_t addresses[NOISE_STACK_DEPTH] = {0};
		previous = &id;
		if (bpf_map_lookup_elem(fd, &id, addresses))
			continue;
		PyObject *key = PyLong_FromUnsignedLong(id), *list = addresses_of(addresses);
		int err = key && list ? PyDict_SetItem(stacks, key, list) : -1;
		Py_XDECREF(key);
		Py_XDECREF(list);
		if (err) {
			Py_DECREF(stacks);
			return NULL;
		}
	}
	return stacks;
}

/* A stack of a program by its id. */
static PyObject *session_user_stack(PyObject *self, PyObject *number)
{
	struct tracer *t = tracer_of(self);
	uint64_t addresses[NOISE_STACK_DEPTH] = {0};
	uint32_t id = PyLong_AsUnsignedLong(number);
	if (!t || PyErr_Occurred())
		return NULL;
	/* What is not there has no addresses. */
	bpf_map_lookup_elem(bpf_map__fd(t->skeleton->maps.noise_user_stacks), &id, addresses);
	return addresses_of(addresses);
}

/* Begins the recording. A full disk shows in counters(). */
static PyObject *session_write_head(PyObject *self, PyObject *head)
{
	struct tracer *t = tracer_of(self);
	char *bytes;
	Py_ssize_t size;
	if (!t || PyBytes_AsStringAndSize(head, &bytes, &size))
		return NULL;
	Py_BEGIN_ALLOW_THREADS;
	drain__write_head(&t->drain, bytes, size);
	Py_END_ALLOW_THREADS;
	Py_RETURN_NONE;
}

/* Adds a block to the recording. A full disk shows in counters(). */
static PyObject *session_append(PyObject *self, PyObject *args)
{
	struct tracer *t = tracer_of(self);
	const char *payload;
	Py_ssize_t size;
	unsigned int kind;
	if (!t || !PyArg_ParseTuple(args, "Iy#", &kind, &payload, &size))
		return NULL;
	if (size % 8)
		return PyErr_Format(PyExc_ValueError, "blocks hold a multiple of 8 bytes");
	Py_BEGIN_ALLOW_THREADS;
	drain__append(&t->drain, kind, payload, size);
	Py_END_ALLOW_THREADS;
	Py_RETURN_NONE;
}

static PyObject *session_translation_unit(PyObject *self, PyObject *unused)
{
	struct tracer *t = tracer_of(self);
	return t ? translation_unit__describe(t->skeleton) : NULL;
}

static PyObject *session_load_program(PyObject *self, PyObject *args)
{
	struct tracer *t = tracer_of(self);
	struct tracer_error error = {0};
	const char *name, *code;
	Py_ssize_t bytes;
	if (!t || !PyArg_ParseTuple(args, "sy#", &name, &code, &bytes))
		return NULL;
	int err = t->bcc.programs ? bcc_loader__load(&t->bcc, name, code, bytes, &error) : -EINVAL;
	if (err)
		return raise_error(err, "load", error.detail);
	Py_RETURN_NONE;
}

/* Makes a thread group a victim, or a thread, as the kind of the victims wants it. */
static PyObject *session_add_victim(PyObject *self, PyObject *number)
{
	struct tracer *t = tracer_of(self);
	uint32_t id = PyLong_AsUnsignedLong(number), present = 1;
	if (!t || PyErr_Occurred())
		return NULL;
	int err = bpf_map_update_elem(bpf_map__fd(t->skeleton->maps.noise_victim_ids), &id,
				      &present, BPF_ANY);
	if (err)
		return raise_error(err, "follow", "");
	Py_RETURN_NONE;
}

static void session_destroy(struct session *session)
{
	if (!session->opened)
		return;
	session->opened = false;
	Py_BEGIN_ALLOW_THREADS;
	tracer__destroy(&session->tracer);
	Py_END_ALLOW_THREADS;
}

static PyObject *session_close(PyObject *self, PyObject *unused)
{
	session_destroy((struct session *)self);
	Py_RETURN_NONE;
}

static void session_dealloc(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);
	session_destroy((struct session *)self);
	Py_XDECREF(((struct session *)self)->left_out);
	freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
	release(self);
	Py_DECREF(type);
}

/* Run-time statistics of all BPF programs, on as long as the returned descriptor is open. */
static PyObject *session_enable_stats(PyObject *self, PyObject *unused)
{
	int fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	if (fd < 0)
		return raise_error(-errno, "stats", "");
	return PyLong_FromLong(fd);
}

static PyMethodDef methods[] = {
	{"attach", session_attach, METH_NOARGS, "attach() -> None"},
	{"start_window", session_start_window, METH_NOARGS,
	 "start_window() -> int\n\nThe moment (CLOCK_MONOTONIC, ns) from which on events count."},
	{"stop_window", session_stop_window, METH_NOARGS,
	 "stop_window() -> int\n\nDrains what happened up to now, then delivers nothing more."},
	{"read", session_read, METH_NOARGS,
	 "read() -> memoryview\n\nstruct noise_event[] since the last call, up to now."},
	{"news", session_news, METH_NOARGS,
	 "news() -> bytes\n\nstruct noise_event[] since the last call that are the first to name "
	 "something."},
	{"announce_news", session_announce_news, METH_VARARGS,
	 "announce_news(eventfd: int, interval_s: float, /) -> None"},
	{"cpu_counters", session_cpu_counters, METH_NOARGS,
	 "cpu_counters() -> bytes\n\nstruct noise_cpu_counters[], one per CPU: since the window "
	 "started."},
	{"counters", session_counters, METH_NOARGS, "counters() -> dict\n\nOf the drain thread."},
	{"programs", session_programs, METH_NOARGS, "programs() -> list[dict]"},
	{"stacks", session_stacks, METH_NOARGS, "stacks() -> dict[int, list[int]]"},
	{"user_stack", session_user_stack, METH_O, "user_stack(id) -> list[int]"},
	{"write_head", session_write_head, METH_O, "write_head(head) -> None"},
	{"append", session_append, METH_VARARGS, "append(kind, payload) -> None"},
	{"translation_unit", session_translation_unit, METH_NOARGS, "translation_unit() -> dict"},
	{"load_program", session_load_program, METH_VARARGS, "load_program(name, code) -> None"},
	{"open_records", session_open_records, METH_VARARGS,
	 "open_records(until_ns) -> tuple[bytes, bytes]"},
	{"add_victim", session_add_victim, METH_O, "add_victim(number) -> None"},
	{"enable_stats", session_enable_stats, METH_NOARGS, "enable_stats() -> int"},
	{"close", session_close, METH_NOARGS, "close() -> None\n\nDetaches and unloads."},
	{NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
	{Py_tp_init, session_init},
	{Py_tp_dealloc, session_dealloc},
	{Py_tp_methods, methods},
	{Py_tp_doc,
	 "Session(**config)\n\nA loaded BPF object and its drain thread; see _native.pyi."},
	{0, NULL},
};

static PyType_Spec spec = {
	.name = "noisetop._native.Session",
	.basicsize = sizeof(struct session),
	.flags = Py_TPFLAGS_DEFAULT,
	.slots = slots,
};

int session__add_to(PyObject *module)
{
	tracer_error_type = PyErr_NewExceptionWithDoc("noisetop._native.TracerError",
						      "args: (errno, step, libbpf's last message)",
						      PyExc_Exception, NULL);
	if (!tracer_error_type || PyModule_AddObjectRef(module, "TracerError", tracer_error_type))
		return -1;
	if (batch__prepare())
		return -1;
	PyObject *type = PyType_FromSpec(&spec);
	int err = type ? PyModule_AddObjectRef(module, "Session", type) : -1;
	Py_XDECREF(type);
	return err;
}
