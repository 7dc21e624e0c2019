"""Runs one of our raw tracepoint programs with any arguments, by BPF_PROG_TEST_RUN."""

from __future__ import annotations

import contextlib
import ctypes
import json
import platform
import re
import struct
from pathlib import Path

from tests.kernel.program import bpftool

# include/uapi/linux/bpf.h, and the system call's number by machine
_PROG_TEST_RUN = 10
_RUN_ON_CPU = 1
_SYS_BPF = {"x86_64": 321, "aarch64": 280}


def program_of_this_process(name: str) -> int:
    """The descriptor of the program of that name that this process has loaded."""
    names = {one["id"]: one.get("name") for one in json.loads(bpftool("--json", "prog", "list"))}
    mine = []
    for info in Path("/proc/self/fdinfo").iterdir():
        with contextlib.suppress(FileNotFoundError):  # the one that listed the folder
            found = re.search(r"^prog_jited:.*^prog_id:\s+(\d+)", info.read_text(), re.M | re.S)
            if found and names.get(int(found[1])) == name:
                mine.append(int(info.name))
    assert len(mine) == 1, (name, mine)
    return mine[0]


def run(fd: int, cpu: int, *arguments: int) -> None:
    """Runs it once on a CPU, as if its tracepoint had been hit with these arguments."""
    values = struct.pack(f"{len(arguments)}Q", *arguments)
    context = ctypes.create_string_buffer(values, len(values))
    attributes = struct.pack(
        "4I2Q4I2Q2I", fd, 0, 0, 0, 0, 0, 0, 0, len(values), 0, ctypes.addressof(context), 0,
        _RUN_ON_CPU, cpu,
    )  # fmt: skip
    libc = ctypes.CDLL(None, use_errno=True)
    number = _SYS_BPF[platform.machine()]
    if libc.syscall(number, _PROG_TEST_RUN, attributes, len(attributes)) < 0:
        raise OSError(ctypes.get_errno(), "BPF_PROG_TEST_RUN")
