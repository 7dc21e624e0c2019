// SPDX-License-Identifier: Apache-2.0
/* What took the time of waits on one CPU: noisetop._tables.shares. */
#define Py_LIMITED_API 0x030b0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>
#include <stdlib.h>

#include "column.h"
#include "group_table.h"
#include "shares.h"
#include "tables.h"

/* A row of the answer. */
struct share {
	uint64_t owner, kind, ns;
};

/* One after another. */
struct waits {
	uint64_t *owners, *starts, *ends;
	size_t count;
};

struct work {
	struct segments segments;
	struct waits waits;
	struct parts parts;
	const uint8_t *competing; /* by kind */
	uint64_t switch_ns;
	uint64_t *left_ns;       /* by wait, to be written */
	struct group_table keys; /* owner, kind: the places of shares */
	struct share *shares;
	size_t room;
};

static int add_share(struct work *w, uint64_t owner, uint64_t kind, uint64_t ns)
{
	uint64_t key[] = {owner, kind};
	uint64_t hash = group_table__mix(group_table__mix(0, owner), kind);
	int64_t place = group_table__number(&w->keys, key, hash, true);
	if (place < 0)
		return -1;
	if ((size_t)place == w->room) {
		size_t room = w->room ? 2 * w->room : 64;
		struct share *wider = realloc(w->shares, room * sizeof(*wider));
		if (!wider)
			return -1;
		memset(wider + w->room, 0, (room - w->room) * sizeof(*wider));
		w->shares = wider;
		w->room = room;
	}
	w->shares[place] = (struct share){owner, kind, w->shares[place].ns + ns};
	return 0;
}

/* Who competed longest, the first of several; SIZE_MAX: nobody. */
static size_t rival(const struct work *w)
{
	size_t found = SIZE_MAX;
	for (size_t i = 0; i < w->parts.count; i++) {
		size_t kind = w->parts.kinds[i];
		if (!w->competing[kind])
			continue;
		uint64_t best_ns = found == SIZE_MAX ? 0 : w->parts.ns[found];
		if (w->parts.ns[kind] > best_ns || (w->parts.ns[kind] == best_ns && kind < found))
			found = kind;
	}
	return found;
}

static int share_wait(struct work *w, size_t wait)
{
	uint64_t start_ns = w->waits.starts[wait], end_ns = w->waits.ends[wait];
	uint64_t owner = w->waits.owners[wait];
	int err = 0;
	w->left_ns[wait] = 0;
	if (end_ns <= start_ns)
		return 0;
	uint64_t known_ns = segments__between(&w->segments, start_ns, end_ns, &w->parts);
	uint64_t left_ns = w->left_ns[wait] = end_ns - start_ns - known_ns;
	size_t by = left_ns && left_ns <= w->switch_ns ? rival(w) : SIZE_MAX;
	if (left_ns)
		err = add_share(w, owner, by == SIZE_MAX ? w->segments.kind_count : by, left_ns);
	for (size_t i = 0; i < w->parts.count && !err; i++)
		err = add_share(w, owner, w->parts.kinds[i], w->parts.ns[w->parts.kinds[i]]);
	parts__clear(&w->parts);
	return err;
}

static int share_all(struct work *w)
{
	int err = segments__sum_up(&w->segments) || parts__open(&w->parts, w->segments.kind_count);
	for (size_t wait = 0; wait < w->waits.count && !err; wait++)
		err = share_wait(w, wait);
	return err;
}

/* Takes the columns apart. -1 with an exception. */
static int work_open(struct work *w, PyObject *waits, PyObject *segments,
		     const Py_buffer *competing, const Py_buffer *left)
{
	struct segments *s = &w->segments;
	w->waits.owners = columns__arrays(waits, 3, &w->waits.count);
	s->starts = w->waits.owners ? columns__arrays(segments, 3, &s->count) : NULL;
	if (!s->starts)
		return -1;
	w->waits.starts = w->waits.owners + w->waits.count;
	w->waits.ends = w->waits.starts + w->waits.count;
	s->ends = s->starts + s->count;
	s->kinds = s->ends + s->count;
	s->kind_count = competing->len;
	w->competing = competing->buf;
	w->left_ns = left->buf;
	w->keys.width = 2;
	bool fits = left->len == (Py_ssize_t)(w->waits.count * sizeof(*w->left_ns));
	for (size_t i = 0; i < s->count; i++)
		fits = fits && s->kinds[i] < s->kind_count;
	if (!fits)
		PyErr_SetString(PyExc_ValueError, "a uint64 for each wait, and a known kind");
	return fits ? 0 : -1;
}

static void work_close(struct work *w)
{
	free(w->waits.owners);
	free(w->segments.starts);
	free(w->segments.sums);
	free(w->shares);
	parts__close(&w->parts);
	group_table__destroy(&w->keys);
}

/* shares((owners, starts, ends), (starts, ends, kinds), competing, switch_ns, left) */
PyObject *tables_shares(PyObject *self, PyObject *args)
{
	PyObject *waits, *segments, *result = NULL;
	Py_buffer competing, left;
	unsigned long long switch_ns;
	struct work work = {0};
	if (!PyArg_ParseTuple(args, "OOy*Kw*", &waits, &segments, &competing, &switch_ns, &left))
		return NULL;
	work.switch_ns = switch_ns;
	if (!work_open(&work, waits, segments, &competing, &left)) {
		int err;
		Py_BEGIN_ALLOW_THREADS;
		err = share_all(&work);
		Py_END_ALLOW_THREADS;
		result = err ? PyErr_NoMemory()
			     : PyBytes_FromStringAndSize((const char *)work.shares,
							 work.keys.used * sizeof(*work.shares));
	}
	work_close(&work);
	PyBuffer_Release(&competing);
	PyBuffer_Release(&left);
	return result;
}
