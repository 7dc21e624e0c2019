// SPDX-License-Identifier: Apache-2.0
/* What the embedded object declares, for the compiler of the same programs: tracing/bcc.py. */
#define Py_LIMITED_API 0x030b0000
#include <Python.h>

#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "btf_resolved.h"
#include "translation_unit.h"
#include "skeleton.h"

static int set_item(PyObject *dict, const char *name, PyObject *value)
{
	int err = value ? PyDict_SetItemString(dict, name, value) : -1;
	Py_XDECREF(value);
	return err;
}

/* The name of each program and its section. */
PyObject *native_programs(PyObject *self, PyObject *unused)
{
	struct noisetop_bpf *skeleton = noisetop_bpf__open();
	if (!skeleton)
		return PyErr_SetFromErrno(PyExc_OSError);
	PyObject *programs = PyDict_New();
	struct bpf_program *program;
	bpf_object__for_each_program(program, skeleton->obj)
	{
		PyObject *section = PyUnicode_FromString(bpf_program__section_name(program));
		if (programs && set_item(programs, bpf_program__name(program), section))
			Py_CLEAR(programs);
	}
	noisetop_bpf__destroy(skeleton);
	return programs;
}

/* A number, or where an array of numbers lies: (offset, bytes of an element). */
static PyObject *knob_value(const struct btf *btf, const struct btf_var_secinfo *place,
			    const char *constants)
{
	const struct btf_type *type = btf_resolved(btf, place->type);
	uint64_t value = 0;
	if (btf_is_array(type)) {
		uint32_t bytes = btf_resolved(btf, btf_array(type)->type)->size;
		return Py_BuildValue("(II)", place->offset, bytes);
	}
	memcpy(&value, constants + place->offset, place->size);
	if (btf_is_int(type) && btf_int_encoding(type) & BTF_INT_SIGNED && place->size == 8)
		return PyLong_FromLongLong(value);
	return PyLong_FromUnsignedLongLong(value);
}

/* The constants that the programs are configured by. */
static PyObject *knobs_of(const struct noisetop_bpf *skeleton)
{
	const struct btf *btf = bpf_object__btf(skeleton->obj);
	int id = btf__find_by_name_kind(btf, ".rodata", BTF_KIND_DATASEC);
	if (id < 0)
		return PyErr_Format(PyExc_RuntimeError, "the BPF object declares no knobs");
	const struct btf_type *section = btf__type_by_id(btf, id);
	const struct btf_var_secinfo *places = btf_var_secinfos(section);
	PyObject *knobs = PyDict_New();
	for (int i = 0; knobs && i < btf_vlen(section); i++) {
		const struct btf_type *variable = btf__type_by_id(btf, places[i].type);
		const char *name = btf__name_by_offset(btf, variable->name_off);
		if (set_item(knobs, name,
			     knob_value(btf, &places[i], (const char *)skeleton->rodata)))
			Py_CLEAR(knobs);
	}
	return knobs;
}

PyObject *translation_unit__describe(const struct noisetop_bpf *skeleton)
{
	PyObject *knobs = knobs_of(skeleton), *maps = PyDict_New();
	struct bpf_map *map;
	bpf_object__for_each_map(map, skeleton->obj)
	{
		if (maps && !bpf_map__is_internal(map) &&
		    set_item(maps, bpf_map__name(map), PyLong_FromLong(bpf_map__fd(map))))
			Py_CLEAR(maps);
	}
	PyObject *unit = NULL;
	if (knobs && maps)
		unit = Py_BuildValue("{s:O,s:O,s:i}", "knobs", knobs, "maps", maps, "constants",
				     bpf_map__fd(skeleton->maps.rodata));
	Py_XDECREF(knobs);
	Py_XDECREF(maps);
	return unit;
}
