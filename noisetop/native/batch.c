// SPDX-License-Identifier: Apache-2.0
/* Memory of the drain thread that Python looks at: copying it is most of what reading takes. */
#define Py_LIMITED_API 0x030b0000
#define PY_SSIZE_T_CLEAN
#include "batch.h"

struct batch {
	PyObject_HEAD PyObject *owner;
	struct buffer rows;
	batch_return give_back;
};

static PyObject *batch_type;

static int batch_getbuffer(PyObject *self, Py_buffer *view, int flags)
{
	struct buffer *rows = &((struct batch *)self)->rows;
	return PyBuffer_FillInfo(view, self, rows->data ? rows->data : "", rows->size, 1, flags);
}

static void batch_dealloc(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);
	struct batch *batch = (struct batch *)self;
	batch->give_back(batch->owner, &batch->rows);
	Py_DECREF(batch->owner);
	freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
	release(self);
	Py_DECREF(type);
}

static PyType_Slot slots[] = {
	{Py_bf_getbuffer, batch_getbuffer},
	{Py_tp_dealloc, batch_dealloc},
	{0, NULL},
};

static PyType_Spec spec = {
	.name = "noisetop._native.Batch",
	.basicsize = sizeof(struct batch),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
	.slots = slots,
};

PyObject *batch__view(PyObject *owner, struct buffer *rows, batch_return give_back)
{
	allocfunc allocate = (allocfunc)PyType_GetSlot((PyTypeObject *)batch_type, Py_tp_alloc);
	struct batch *batch = (void *)allocate((PyTypeObject *)batch_type, 0);
	if (!batch) {
		give_back(owner, rows);
		return NULL;
	}
	batch->owner = Py_NewRef(owner);
	batch->rows = *rows;
	batch->give_back = give_back;
	PyObject *view = PyMemoryView_FromObject((PyObject *)batch);
	Py_DECREF(batch);
	return view;
}

int batch__prepare(void)
{
	batch_type = PyType_FromSpec(&spec);
	return batch_type ? 0 : -1;
}
