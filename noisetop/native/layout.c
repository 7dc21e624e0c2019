// SPDX-License-Identifier: Apache-2.0
/* The layout of the shared records, as the BTF of the embedded object states it, for Python. */
#define Py_LIMITED_API 0x030b0000
#include <Python.h>

#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "btf_resolved.h"
#include "layout.h"
#include "skeleton.h"

static PyObject *describe_member(const char *name, uint32_t offset, const char *kind,
				 const char *struct_name, uint32_t size, uint32_t count)
{
	return Py_BuildValue("(sIssII)", name, offset, kind, struct_name, size, count);
}

/* Appends the members of a struct: (name, offset, kind, struct name, size, count), bytes. */
static int append_members(const struct btf *btf, const struct btf_type *type, uint32_t base,
			  PyObject *list)
{
	const struct btf_member *members = btf_members(type);
	for (int i = 0; i < btf_vlen(type); i++) {
		const struct btf_type *member = btf_resolved(btf, members[i].type);
		const char *name = btf__name_by_offset(btf, members[i].name_off);
		uint32_t offset = base + btf_member_bit_offset(type, i) / 8, count = 1;
		if (btf_is_composite(member) &&
		    !*name) { /* anonymous union: its members are ours */
			if (append_members(btf, member, offset, list))
				return -1;
			continue;
		}
		if (btf_is_array(member)) {
			count = btf_array(member)->nelems;
			member = btf_resolved(btf, btf_array(member)->type);
		}
		const char *type_name = btf__name_by_offset(btf, member->name_off);
		const char *kind = btf_is_composite(member) ? "struct"
				   : btf_is_int(member) && count > 1 && member->size == 1
					   ? "bytes"
					   : "unsigned";
		PyObject *entry =
			describe_member(name, offset, kind, type_name, member->size, count);
		if (!entry || PyList_Append(list, entry)) {
			Py_XDECREF(entry);
			return -1;
		}
		Py_DECREF(entry);
	}
	return 0;
}

static PyObject *describe_struct(const struct btf *btf, const struct btf_type *type)
{
	PyObject *members = PyList_New(0);
	if (!members)
		return NULL;
	if (append_members(btf, type, 0, members)) {
		Py_DECREF(members);
		return NULL;
	}
	return Py_BuildValue("{s:I,s:N}", "size", type->size, "members", members);
}

static PyObject *describe_enum(const struct btf *btf, const struct btf_type *type)
{
	PyObject *values = PyDict_New();
	const struct btf_enum *entries = btf_enum(type);
	for (int i = 0; values && i < btf_vlen(type); i++) {
		PyObject *value = PyLong_FromLong(entries[i].val);
		const char *name = btf__name_by_offset(btf, entries[i].name_off);
		if (!value || PyDict_SetItemString(values, name, value))
			Py_CLEAR(values);
		Py_XDECREF(value);
	}
	return values;
}

static int describe_types(const struct btf *btf, PyObject *structs, PyObject *enums)
{
	for (uint32_t id = 1; id < btf__type_cnt(btf); id++) {
		const struct btf_type *type = btf__type_by_id(btf, id);
		const char *name = btf__name_by_offset(btf, type->name_off);
		if (strncmp(name, "noise_", 6) || !(btf_is_struct(type) || btf_is_enum(type)))
			continue;
		PyObject *entry =
			btf_is_struct(type) ? describe_struct(btf, type) : describe_enum(btf, type);
		PyObject *into = btf_is_struct(type) ? structs : enums;
		int err = entry ? PyDict_SetItemString(into, name, entry) : -1;
		Py_XDECREF(entry);
		if (err)
			return -1;
	}
	return 0;
}

/* The array of struct noise_source that the source files filled. */
static PyObject *source_table(struct bpf_object *object)
{
	struct bpf_map *map;
	bpf_object__for_each_map(map, object)
	{
		size_t bytes;
		const void *data = bpf_map__initial_value(map, &bytes);
		if (data && strstr(bpf_map__name(map), ".rodata.sources"))
			return PyBytes_FromStringAndSize(data, bytes);
	}
	PyErr_SetString(PyExc_RuntimeError, "the BPF object declares no sources");
	return NULL;
}

PyObject *native_layout(PyObject *self, PyObject *unused)
{
	struct noisetop_bpf *skeleton = noisetop_bpf__open();
	if (!skeleton)
		return PyErr_SetFromErrno(PyExc_OSError);
	PyObject *structs = PyDict_New(), *enums = PyDict_New(), *result = NULL;
	PyObject *sources = source_table(skeleton->obj);
	const struct btf *btf = bpf_object__btf(skeleton->obj);
	if (structs && enums && sources && !describe_types(btf, structs, enums))
		result = Py_BuildValue("{s:i,s:k,s:O,s:O,s:O}", "version", NOISE_LAYOUT_VERSION,
				       "block_magic", (unsigned long)NOISE_BLOCK_MAGIC, "structs",
				       structs, "enums", enums, "sources", sources);
	Py_XDECREF(structs);
	Py_XDECREF(enums);
	Py_XDECREF(sources);
	noisetop_bpf__destroy(skeleton);
	return result;
}
