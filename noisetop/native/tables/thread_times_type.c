// SPDX-License-Identifier: Apache-2.0
/* The Python face of the times of threads: noisetop._tables.ThreadTimes. */
#define Py_LIMITED_API 0x030b0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdlib.h>

#include "column.h"
#include "tables.h"
#include "thread_times.h"

#define COLUMNS 6 /* of struct thread_record */
#define TOLD 7    /* of struct told */

struct thread_times_object {
	PyObject_HEAD struct thread_times times;
	bool busy;
};

/* A thread, as close() tells it; `cpus` rows of struct thread_on_cpu belong to it. */
struct told {
	int64_t tid, wall_ns, blocked_ns, delay_ns, throttled_ns, cpu, cpus;
};

/* Two arrays that are not bytes objects yet. */
struct answer {
	struct told *told;
	struct thread_on_cpu *ran_on;
	size_t told_count, ran_count;
};

static int enter(struct thread_times_object *o)
{
	if (!o->busy) {
		o->busy = true;
		return 0;
	}
	PyErr_SetString(PyExc_ValueError, "one thread at a time");
	return -1;
}

static PyObject *leave(struct thread_times_object *o, int err)
{
	o->busy = false;
	if (err)
		return PyErr_NoMemory();
	Py_RETURN_NONE;
}

/* Rows of `width` values; NULL with an exception. */
static uint64_t *rows_of(PyObject *sequence, int width, size_t *count)
{
	struct columns columns;
	if (columns__open(&columns, sequence, width))
		return NULL;
	*count = columns.rows;
	uint64_t *rows = malloc((*count * width + 1) * sizeof(*rows));
	for (int column = 0; rows && column < width; column++) {
		uint64_t *at = rows + column;
		COLUMN_EACH(&columns.column[column], 0, columns.rows, at[i * width] = value);
	}
	columns__close(&columns);
	if (!rows)
		PyErr_NoMemory();
	return rows;
}

static PyObject *times_account(PyObject *self, PyObject *args)
{
	struct thread_times_object *o = (struct thread_times_object *)self;
	PyObject *columns, *result = NULL;
	Py_buffer out;
	size_t count;
	if (!PyArg_ParseTuple(args, "Ow*", &columns, &out))
		return NULL;
	uint64_t *rows = rows_of(columns, COLUMNS, &count);
	if (rows && out.len != (Py_ssize_t)(count * sizeof(uint64_t))) {
		PyErr_SetString(PyExc_ValueError, "a uint64 for each record");
	} else if (rows && !enter(o)) {
		int err;
		Py_BEGIN_ALLOW_THREADS;
		err = thread_times__account(&o->times, (const struct thread_record *)rows, count,
					    out.buf);
		Py_END_ALLOW_THREADS;
		result = leave(o, err);
	}
	free(rows);
	PyBuffer_Release(&out);
	return result;
}

static PyObject *times_ran(PyObject *self, PyObject *columns)
{
	struct thread_times_object *o = (struct thread_times_object *)self;
	size_t count;
	int err = 0;
	uint64_t *rows = rows_of(columns, 2, &count);
	if (!rows || enter(o)) {
		free(rows);
		return NULL;
	}
	for (size_t i = 0; i < count && !err; i++) {
		struct thread_time *time = thread_times__of(&o->times, rows[2 * i]);
		if (time && time->cpu == THREAD_CPU_UNKNOWN)
			time->cpu = rows[2 * i + 1];
		err = time ? 0 : -1;
	}
	free(rows);
	return leave(o, err);
}

static int answer_open(struct answer *a, const struct thread_times *t)
{
	size_t cpus = 0;
	for (uint32_t place = 0; place < t->tids.used; place++)
		cpus += t->times[place].cpus;
	a->told = malloc((t->tids.used + 1) * sizeof(*a->told));
	a->ran_on = malloc((cpus + 1) * sizeof(*a->ran_on));
	return a->told && a->ran_on ? 0 : -1;
}

static void tell(struct answer *a, uint64_t tid, const struct thread_time *time, uint64_t until_ns)
{
	bool goes_on = time->alive && until_ns > time->since_ns;
	a->told[a->told_count++] = (struct told){
		.tid = tid,
		.wall_ns = time->wall_ns + (goes_on ? until_ns - time->since_ns : 0),
		.blocked_ns = time->blocked_ns,
		.delay_ns = time->delay_ns,
		.throttled_ns = time->throttled_ns,
		.cpu = time->cpu,
		.cpus = time->cpus,
	};
	for (uint32_t i = 0; i < time->cpus; i++)
		a->ran_on[a->ran_count++] = time->ran_on[i];
}

static PyObject *times_close(PyObject *self, PyObject *args)
{
	struct thread_times_object *o = (struct thread_times_object *)self;
	struct thread_times *t = &o->times;
	struct answer a = {0};
	unsigned long long until_ns;
	PyObject *result = NULL;
	if (!PyArg_ParseTuple(args, "K", &until_ns) || enter(o))
		return NULL;
	int err = answer_open(&a, t);
	for (uint32_t place = 0; !err && place < t->tids.used; place++)
		tell(&a, t->tids.keys[place], &t->times[place], until_ns);
	if (!err)
		err = thread_times__close(t, until_ns);
	Py_XDECREF(leave(o, err));
	if (!err)
		result = Py_BuildValue(
			"y#y#", (const char *)a.told, (Py_ssize_t)(a.told_count * sizeof(*a.told)),
			(const char *)a.ran_on, (Py_ssize_t)(a.ran_count * sizeof(*a.ran_on)));
	free(a.told);
	free(a.ran_on);
	return result;
}

static PyObject *times_forget(PyObject *self, PyObject *columns)
{
	struct thread_times_object *o = (struct thread_times_object *)self;
	PyObject *result = NULL;
	size_t count;
	uint64_t *tids = rows_of(columns, 1, &count);
	if (tids && !enter(o))
		result = leave(o, thread_times__forget(&o->times, tids, count));
	free(tids);
	return result;
}

static PyObject *times_tids(PyObject *self, PyObject *args)
{
	struct group_table *tids = &((struct thread_times_object *)self)->times.tids;
	return PyBytes_FromStringAndSize((const char *)tids->keys,
					 tids->used * sizeof(*tids->keys));
}

static int times_init(PyObject *self, PyObject *args, PyObject *kwargs)
{
	struct thread_times *t = &((struct thread_times_object *)self)->times;
	static char *names[] = {"start_ns", "follows", "new_mark", NULL};
	unsigned long long start_ns, new_mark;
	int follows;
	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "KpK", names, &start_ns, &follows,
					 &new_mark))
		return -1;
	thread_times__destroy(t);
	t->closed_ns = start_ns;
	t->follows = follows;
	t->new_mark = new_mark;
	return 0;
}

static void times_dealloc(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);
	thread_times__destroy(&((struct thread_times_object *)self)->times);
	freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
	release(self);
	Py_DECREF(type);
}

static PyMethodDef methods[] = {
	{"account", times_account, METH_VARARGS,
	 "account((tids, cpus, starts, ends, kinds, slept), begins) -> None"},
	{"ran", times_ran, METH_O, "ran((tids, cpus)) -> None"},
	{"close", times_close, METH_VARARGS, "close(until_ns) -> tuple[bytes, bytes]"},
	{"forget", times_forget, METH_O, "forget((tids,)) -> None"},
	{"tids", times_tids, METH_NOARGS, "tids() -> bytes"},
	{NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
	{Py_tp_init, times_init},
	{Py_tp_dealloc, times_dealloc},
	{Py_tp_methods, methods},
	{Py_tp_doc, "ThreadTimes(start_ns, follows, new_mark)"},
	{0, NULL},
};

static PyType_Spec spec = {
	.name = "noisetop._tables.ThreadTimes",
	.basicsize = sizeof(struct thread_times_object),
	.flags = Py_TPFLAGS_DEFAULT,
	.slots = slots,
};

static int add_kinds(PyObject *module)
{
	return PyModule_AddIntConstant(module, "WAITED", THREAD_WAITED) ||
	       PyModule_AddIntConstant(module, "WOKEN", THREAD_WOKEN) ||
	       PyModule_AddIntConstant(module, "THROTTLED", THREAD_THROTTLED) ||
	       PyModule_AddIntConstant(module, "BLOCKED", THREAD_BLOCKED) ||
	       PyModule_AddIntConstant(module, "EXITED", THREAD_EXITED);
}

int thread_times__add_to(PyObject *module)
{
	PyObject *type = PyType_FromSpec(&spec);
	int err = type ? PyModule_AddObjectRef(module, "ThreadTimes", type) : -1;
	Py_XDECREF(type);
	return err || add_kinds(module) ? -1 : 0;
}
