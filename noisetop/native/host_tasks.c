// SPDX-License-Identifier: Apache-2.0
/* The host's numbers of the tasks of this PID namespace, from an iterator of the kernel. */
#define Py_LIMITED_API 0x030b0000
#include <Python.h>

#include <errno.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/types.h>

#include "buffer.h"
#include "host/host_tasks.h"
#include "host_tasks.h"
#include "host_tasks.skel.h"

static int read_all(int fd, struct buffer *rows)
{
	char chunk[4096];
	ssize_t size;
	while ((size = read(fd, chunk, sizeof(chunk)))) {
		if (size < 0 && errno == EINTR)
			continue;
		int err = size < 0 ? -errno : buffer__append(rows, chunk, size);
		if (err)
			return err;
	}
	return 0;
}

static int iterate(struct buffer *rows)
{
	struct host_tasks_bpf *skeleton = host_tasks_bpf__open_and_load();
	int err = skeleton ? host_tasks_bpf__attach(skeleton) : -errno;
	if (!err) {
		int fd = bpf_iter_create(bpf_link__fd(skeleton->links.host_tasks));
		err = fd < 0 ? -errno : read_all(fd, rows);
		if (fd >= 0)
			close(fd);
	}
	host_tasks_bpf__destroy(skeleton);
	return err;
}

static PyObject *as_list(const struct host_task *rows, size_t count)
{
	PyObject *list = PyList_New(0);
	for (size_t i = 0; list && i < count; i++) {
		PyObject *row = Py_BuildValue("(III)", rows[i].number, rows[i].host_number,
					      rows[i].cgroup_level);
		if (!row || PyList_Append(list, row))
			Py_CLEAR(list);
		Py_XDECREF(row);
	}
	return list;
}

PyObject *native_host_tasks(PyObject *self, PyObject *unused)
{
	struct buffer rows = {0};
	int err;
	Py_BEGIN_ALLOW_THREADS;
	err = iterate(&rows);
	Py_END_ALLOW_THREADS;
	PyObject *list = NULL;
	if (err) {
		errno = -err;
		PyErr_SetFromErrno(PyExc_OSError);
	} else {
		list = as_list((struct host_task *)rows.data, rows.size / sizeof(struct host_task));
	}
	free(rows.data);
	return list;
}
