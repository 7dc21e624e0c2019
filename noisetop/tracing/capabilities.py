"""Gives up the privileges that a run does not need once its programs are attached.

Capabilities belong to a thread; one that starts has those of the thread that starts it. What a run
keeps for a later step is permitted, and in effect only during that step.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntFlag
from functools import cache

from noisetop import _native

# include/uapi/linux/prctl.h
_PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 24, 38
_MOST_CAPABILITIES = 64

# include/uapi/linux/capability.h
_VERSION_3 = 0x20080522

# include/uapi/linux/bpf.h, and the system call's number by machine
_SYS_BPF = {"x86_64": 321, "aarch64": 280}
_MAP_CREATE, _MAP_LOOKUP, _ARRAY = 0, 1, 2


class Capability(IntFlag):
    """include/uapi/linux/capability.h: those that a run may keep."""

    CHOWN = 1 << 0
    DAC_OVERRIDE = 1 << 1
    DAC_READ_SEARCH = 1 << 2
    FOWNER = 1 << 3
    KILL = 1 << 5
    IPC_LOCK = 1 << 14
    SYS_PTRACE = 1 << 19
    SYS_ADMIN = 1 << 21
    SYS_NICE = 1 << 23
    SYS_RESOURCE = 1 << 24
    SYSLOG = 1 << 34
    PERFMON = 1 << 38
    BPF = 1 << 39
    CHECKPOINT_RESTORE = 1 << 40


NONE = Capability(0)

FILES = Capability.CHOWN | Capability.DAC_OVERRIDE | Capability.FOWNER
"""To write into a folder of another user, and to give files to the user who called sudo."""
SIGNALS = Capability.KILL
"""To end a command that became another user, and to signal any process."""
NAMES = Capability.SYS_PTRACE | Capability.DAC_READ_SEARCH
"""To read who a process is where /proc hides it, and files of a user's own containers."""
STACKS = NAMES | Capability.CHECKPOINT_RESTORE
"""To read which files the code of a process is from, and to open them: /proc/PID/map_files."""
ATTACH = (
    Capability.BPF
    | Capability.PERFMON
    | Capability.SYSLOG
    | Capability.SYS_NICE
    | Capability.SYS_RESOURCE
    | Capability.IPC_LOCK
    | NAMES
)
"""To load and attach programs: also names of kernel functions, a prompt drain thread, memory of
maps before Linux 5.11, and who else listens."""
AUDIT = NAMES
"""To look at what other processes hold open, and at files that are not for everybody."""


def permitted() -> Capability:
    """What this thread may have in effect."""
    return Capability(_native.permitted_capabilities())


def drop_capabilities(kept: Capability, effective: Capability = NONE) -> Capability:
    """Leaves this thread, and those that it starts, with ``kept`` as far as it has them; of them
    ``effective`` stay in effect, others are for raised(). No program that it runs gets more.
    Returns what stays.

    Other threads of the process keep theirs: call it before there are any. The native drain thread
    has given up its own.
    """
    left = kept & permitted()
    _never_more(left)
    _native.set_capabilities(effective & left, left)
    return left


@contextmanager
def raised(wanted: Capability) -> Iterator[None]:
    """During the block this thread has these in effect, as far as they are permitted."""
    before, may = _effective(), permitted()
    added = before | wanted & may
    if added == before:
        yield
        return
    _native.set_capabilities(added, may)
    try:
        yield
    finally:
        _native.set_capabilities(before, may)


@contextmanager
def none_effective() -> Iterator[None]:
    """During the block this thread has none in effect: to find out what takes one."""
    before, may = _effective(), permitted()
    _native.set_capabilities(0, may)
    try:
        yield
    finally:
        _native.set_capabilities(before, may)


def maps_take_a_capability() -> bool:
    """Whether reading a BPF map takes CAP_BPF, which is found by trying: before Linux 5.19 it does,
    depending on ``kernel.unprivileged_bpf_disabled``. True where that cannot be tried."""
    number = _SYS_BPF.get(platform.machine())
    fd = -1 if number is None else _bpf(number, _MAP_CREATE, struct.pack("4I", _ARRAY, 4, 8, 1))
    if number is None or fd < 0:
        return True
    key, value = ctypes.c_uint32(0), ctypes.c_uint64(0)
    places = (ctypes.addressof(key), ctypes.addressof(value))
    try:
        with none_effective():
            return _bpf(number, _MAP_LOOKUP, struct.pack("I4x3Q", fd, *places, 0)) < 0
    finally:
        os.close(fd)


def _bpf(number: int, command: int, attributes: bytes) -> int:
    result: int = _libc().syscall(number, command, attributes, len(attributes))
    return result


def _effective() -> Capability:
    """What this thread has in effect. Raises OSError."""
    header = (ctypes.c_uint32 * 2)(_VERSION_3, 0)
    # effective, permitted and inheritable, the lower 32 bits of each first
    data = (ctypes.c_uint32 * 6)()
    libc = _libc()
    if libc.capget(header, data):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return Capability(data[0] | data[3] << 32)


def _never_more(kept: Capability) -> None:
    """Takes away what a program could get by being run. The bounding set takes CAP_SETPCAP, without
    which it stays as it is: the first call is enough alone."""
    libc = _libc()
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    for number in range(_MOST_CAPABILITIES):
        if not kept >> number & 1:
            libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0)


@cache  # the names of its functions are looked up once
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
