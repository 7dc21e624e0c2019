// SPDX-License-Identifier: Apache-2.0
/* The Python face of the active probes: the spinning process, clock pairs, memory of a node. */
#define Py_LIMITED_API 0x030b0000
#include <Python.h>

#include <errno.h>
#include <string.h>

#include "noise.h"
#include "numa.h"
#include "probe.h"
#include "spin.h"

static PyObject *raise_errno(int err, const char *step)
{
	PyObject *arguments = Py_BuildValue("(is)", -err, step);
	if (arguments) {
		PyErr_SetObject(PyExc_OSError, arguments);
		Py_DECREF(arguments);
	}
	return NULL;
}

/* Points at the shared memory behind a writable buffer object. Release the view after use. */
static struct spin_shared *shared_of(PyObject *memory, Py_buffer *view, size_t *capacity)
{
	if (PyObject_GetBuffer(memory, view, PyBUF_WRITABLE))
		return NULL;
	if ((size_t)view->len < sizeof(struct spin_shared) + sizeof(struct spin_gap)) {
		PyBuffer_Release(view);
		PyErr_SetString(PyExc_ValueError, "the memory is too small");
		return NULL;
	}
	struct spin_shared *shared = view->buf;
	*capacity = (view->len - sizeof(*shared)) / sizeof(shared->gaps[0]);
	return shared;
}

/* Reads one (memory, cpu, fenced, name, policy, nice, priority, runtime_ns, period_ns). */
static int parse_thread(PyObject *item, struct spin_config *config, Py_buffer *view)
{
	PyObject *memory;
	int fenced, policy;
	unsigned long long runtime_ns, period_ns;
	if (!PyArg_ParseTuple(item, "OipsiiIKK", &memory, &config->cpu, &fenced, &config->name,
			      &policy, &config->nice, &config->priority, &runtime_ns, &period_ns))
		return -1;
	if (config->cpu >= NOISE_MAX_CPUS) {
		PyErr_SetString(PyExc_ValueError, "no such CPU");
		return -1;
	}
	config->shared = shared_of(memory, view, &config->gap_capacity);
	config->fenced = fenced;
	config->schedule = policy >= 0;
	config->policy = policy;
	config->runtime_ns = runtime_ns;
	config->period_ns = period_ns;
	return config->shared ? 0 : -1;
}

static int parse_threads(PyObject *threads, size_t count, struct spin_config *configs,
			 Py_buffer *views, size_t *held)
{
	for (*held = 0; *held < count; ++*held) {
		PyObject *item = PySequence_GetItem(threads, *held);
		int err = item ? parse_thread(item, &configs[*held], &views[*held]) : -1;
		Py_XDECREF(item); /* the caller's sequence keeps it, and the name in it, alive */
		if (err)
			return -1;
	}
	return 0;
}

static PyObject *native_spin_start(PyObject *self, PyObject *args)
{
	PyObject *threads;
	struct disturbance disturbance = {0};
	int group;
	if (!PyArg_ParseTuple(args, "OiIiII", &threads, &group, &disturbance.kinds,
			      &disturbance.sender_cpu, &disturbance.send_ns, &disturbance.timer_ns))
		return NULL;
	Py_ssize_t count = PySequence_Size(threads);
	if (count < 1 || count > NOISE_MAX_CPUS) {
		if (!PyErr_Occurred())
			PyErr_SetString(PyExc_ValueError, "no thread to start");
		return NULL;
	}
	struct spin_config *configs = PyMem_Calloc(count, sizeof(*configs));
	Py_buffer *views = PyMem_Calloc(count, sizeof(*views));
	size_t held = 0;
	pid_t pid = -ENOMEM;
	int err = configs && views ? parse_threads(threads, count, configs, views, &held) : 0;
	if (!err && configs && disturbance.kinds)
		configs[0].disturbance = &disturbance;
	if (configs && views && !err)
		pid = spin__start(configs, count, group);
	while (held--)
		PyBuffer_Release(&views[held]);
	PyMem_Free(views);
	PyMem_Free(configs);
	if (err)
		return NULL;
	return pid < 0 ? raise_errno(pid, "fork") : PyLong_FromLong(pid);
}

static PyObject *native_spin_set(PyObject *self, PyObject *args)
{
	PyObject *memory;
	Py_buffer view;
	size_t capacity;
	unsigned long long begin, end, threshold, longer, busy, sleep_ns;
	if (!PyArg_ParseTuple(args, "OKKKKKK", &memory, &begin, &end, &threshold, &longer, &busy,
			      &sleep_ns))
		return NULL;
	struct spin_shared *shared = shared_of(memory, &view, &capacity);
	if (!shared)
		return NULL;
	shared->threshold_ticks = threshold;
	shared->long_ticks = longer;
	shared->busy_ticks = busy;
	shared->sleep_ns = sleep_ns;
	__atomic_store_n(&shared->end_ticks, end, __ATOMIC_RELEASE);
	__atomic_store_n(&shared->begin_ticks, begin, __ATOMIC_RELEASE); /* the loop waits for it */
	PyBuffer_Release(&view);
	Py_RETURN_NONE;
}

static PyObject *native_spin_stop(PyObject *self, PyObject *memory)
{
	Py_buffer view;
	size_t capacity;
	struct spin_shared *shared = shared_of(memory, &view, &capacity);
	if (!shared)
		return NULL;
	__atomic_store_n(&shared->end_ticks, 0, __ATOMIC_RELEASE);
	if (!__atomic_load_n(&shared->begin_ticks, __ATOMIC_ACQUIRE))
		__atomic_store_n(&shared->begin_ticks, 1, __ATOMIC_RELEASE);
	PyBuffer_Release(&view);
	Py_RETURN_NONE;
}

static PyObject *build_pair(const struct clock_pair *pair)
{
	return Py_BuildValue("(KKK)", (unsigned long long)pair->before_ticks,
			     (unsigned long long)pair->ns, (unsigned long long)pair->after_ticks);
}

static PyObject *build_state(const struct spin_shared *shared, size_t capacity)
{
	static const char *const states[] = {"starting", "ready", "spinning", "done", "failed"};
	uint32_t state = __atomic_load_n(&shared->state, __ATOMIC_ACQUIRE);
	size_t stored = shared->gap_count < capacity ? shared->gap_count : capacity;
	return Py_BuildValue(
		"{s:s,s:i,s:s,s:I,s:K,s:K,s:K,s:N,s:N,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,"
		"s:K,s:K,s:K}",
		"state", states[state % 5], "error", shared->error, "step", shared->step, "tid",
		shared->tid, "threshold_ticks", (unsigned long long)shared->threshold_ticks,
		"loop_ticks", (unsigned long long)shared->loop_ticks, "resolution_ticks",
		(unsigned long long)shared->resolution_ticks, "began", build_pair(&shared->began),
		"ended", build_pair(&shared->ended), "first_ticks",
		(unsigned long long)shared->first_ticks, "last_ticks",
		(unsigned long long)shared->last_ticks, "active_ticks",
		(unsigned long long)shared->active_ticks, "loops",
		(unsigned long long)shared->loops, "sleeps", (unsigned long long)shared->sleeps,
		"gap_count", (unsigned long long)stored, "unstored_count",
		(unsigned long long)shared->unstored_count, "unstored_ticks",
		(unsigned long long)shared->unstored_ticks, "voluntary_switches",
		(unsigned long long)shared->usage.voluntary_switches, "involuntary_switches",
		(unsigned long long)shared->usage.involuntary_switches, "minor_faults",
		(unsigned long long)shared->usage.minor_faults, "major_faults",
		(unsigned long long)shared->usage.major_faults, "cpu_ns",
		(unsigned long long)shared->usage.cpu_ns, "run_delay_ns",
		(unsigned long long)shared->usage.run_delay_ns);
}

static PyObject *native_spin_state(PyObject *self, PyObject *memory)
{
	Py_buffer view;
	size_t capacity;
	struct spin_shared *shared = shared_of(memory, &view, &capacity);
	if (!shared)
		return NULL;
	PyObject *result = build_state(shared, capacity);
	PyBuffer_Release(&view);
	return result;
}

static PyObject *native_spin_gaps(PyObject *self, PyObject *memory)
{
	Py_buffer view;
	size_t capacity;
	struct spin_shared *shared = shared_of(memory, &view, &capacity);
	if (!shared)
		return NULL;
	size_t stored = shared->gap_count < capacity ? shared->gap_count : capacity;
	PyObject *result = PyBytes_FromStringAndSize((const char *)shared->gaps,
						     stored * sizeof(shared->gaps[0]));
	PyBuffer_Release(&view);
	return result;
}

static PyObject *native_clock_pair(PyObject *self, PyObject *tries)
{
	long count = PyLong_AsLong(tries);
	if (count < 1) {
		if (!PyErr_Occurred())
			PyErr_SetString(PyExc_ValueError, "at least one try");
		return NULL;
	}
	struct clock_pair pair;
	clock_pair__read(&pair, count);
	return build_pair(&pair);
}

static PyObject *build_times(const uint64_t *times_ns, uint32_t count)
{
	PyObject *list = PyList_New(count);
	for (uint32_t i = 0; list && i < count; i++) {
		PyObject *number = PyLong_FromUnsignedLongLong(times_ns[i]);
		if (!number || PyList_SetItem(list, i, number))
			Py_CLEAR(list);
	}
	return list;
}

static PyObject *build_accesses(const double *times_ns, uint32_t count)
{
	PyObject *list = PyList_New(count);
	for (uint32_t i = 0; list && i < count; i++) {
		PyObject *number = PyFloat_FromDouble(times_ns[i]);
		if (!number || PyList_SetItem(list, i, number))
			Py_CLEAR(list);
	}
	return list;
}

static PyObject *native_numa_measure(PyObject *self, PyObject *args)
{
	struct numa_config config;
	unsigned long long bytes;
	if (!PyArg_ParseTuple(args, "iiKI", &config.cpu, &config.node, &bytes, &config.repeats))
		return NULL;
	if (config.repeats < 1 || config.repeats > NUMA_MAX_REPEATS || config.cpu < 0 ||
	    bytes < 1 << 12) {
		PyErr_SetString(PyExc_ValueError, "out of range");
		return NULL;
	}
	config.array_bytes = bytes & ~4095ull;
	struct numa_result *result = PyMem_Calloc(1, sizeof(*result));
	if (!result)
		return PyErr_NoMemory();
	int err;
	Py_BEGIN_ALLOW_THREADS;
	err = numa__measure(&config, result);
	Py_END_ALLOW_THREADS;
	PyObject *times = NULL;
	if (err)
		raise_errno(err, result->step);
	else
		times = Py_BuildValue(
			"{s:K,s:N,s:N,s:N,s:N,s:N}", "array_bytes",
			(unsigned long long)config.array_bytes, "copy",
			build_times(result->kernel_ns[NUMA_KERNEL_COPY], config.repeats), "scale",
			build_times(result->kernel_ns[NUMA_KERNEL_SCALE], config.repeats), "add",
			build_times(result->kernel_ns[NUMA_KERNEL_ADD], config.repeats), "triad",
			build_times(result->kernel_ns[NUMA_KERNEL_TRIAD], config.repeats), "access",
			build_accesses(result->access_ns, config.repeats));
	PyMem_Free(result);
	return times;
}

static PyMethodDef methods[] = {
	{"spin_start", native_spin_start, METH_VARARGS,
	 "spin_start(threads, group, kinds=0, sender_cpu=0) -> int\n\nForks a process of "
	 "spinning threads."},
	{"spin_set", native_spin_set, METH_VARARGS,
	 "spin_set(memory, begin, end, threshold, long, busy, sleep_ns) -> None\n\nStarts the "
	 "loop."},
	{"spin_stop", native_spin_stop, METH_O, "spin_stop(memory) -> None\n\nEnds the loop."},
	{"spin_state", native_spin_state, METH_O, "spin_state(memory) -> dict"},
	{"spin_gaps", native_spin_gaps, METH_O,
	 "spin_gaps(memory) -> bytes\n\nPairs of 64-bit counter readings."},
	{"clock_pair", native_clock_pair, METH_O,
	 "clock_pair(tries) -> (ticks, ns, ticks)\n\nThe counter around CLOCK_MONOTONIC."},
	{"numa_measure", native_numa_measure, METH_VARARGS,
	 "numa_measure(cpu, node, array_bytes, repeats) -> dict"},
	{NULL, NULL, 0, NULL},
};

int probe__add_to(PyObject *module)
{
	static const struct {
		const char *name;
		long value;
	} ways[] = {
		{"DISTURB_TIMER", DISTURB_TIMER},     {"DISTURB_SLEEP", DISTURB_SLEEP},
		{"DISTURB_TIMEOUT", DISTURB_TIMEOUT}, {"DISTURB_CALL", DISTURB_CALL},
		{"DISTURB_WAKE", DISTURB_WAKE},       {"DISTURB_FAULT", DISTURB_FAULT},
	};
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		if (PyModule_AddIntConstant(module, ways[i].name, ways[i].value))
			return -1;
	if (PyModule_AddIntConstant(module, "SPIN_HEAD_BYTES", sizeof(struct spin_shared)) ||
	    PyModule_AddIntConstant(module, "SPIN_GAP_BYTES", sizeof(struct spin_gap)))
		return -1;
	return PyModule_AddFunctions(module, methods);
}
