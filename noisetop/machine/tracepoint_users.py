"""Who listens to tracepoints: BPF links, perf events and ftrace, as /proc and tracefs tell.

The kernel calls the only subscriber of a tracepoint directly, and several in a loop of indirect
calls. It has no list of them, so each kind is found where it is held: links and events by the
processes that have them open, ftrace by what its instances have switched on.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from noisetop.machine.files import Files
from noisetop.machine.namespaces import is_first
from noisetop.machine.tasks import effective_capabilities

_TRACEFS = ("/sys/kernel/tracing", "/sys/kernel/debug/tracing")
_COMMAND_NAMES = ("sched_switch", "sched_wakeup", "sched_wakeup_new")
"""ftrace listens to these as well, for names of tasks, whatever it traces (options/record-cmd)."""
_INTERRUPTS = ("irq_handler", "softirq", "local_timer", "reschedule", "call_function")
_OSNOISE = (
    *(f"{name}_{end}" for name in _INTERRUPTS for end in ("entry", "exit")),
    *(
        f"{name}_{end}"
        for name in ("call_function_single", "irq_work")
        for end in ("entry", "exit")
    ),
    "sched_switch",
)
_TRACERS = {
    "osnoise": _OSNOISE,
    "timerlat": _OSNOISE,
    **dict.fromkeys(("wakeup", "wakeup_rt", "wakeup_dl"), (*_COMMAND_NAMES, "sched_migrate_task")),
}
"""What tracers of ftrace listen to without an event that is switched on (kernel/trace/)."""

# include/uapi/linux/perf_event.h: _IOWR('$', 10, pointer); the system call has one number
_QUERY_BPF = 0xC008240A
_SYS_PIDFD_GETFD = 438
_CAP_SYS_PTRACE = 19  # include/uapi/linux/capability.h

_MOST_DESCRIPTORS = 20_000
"""That are looked at: some 15 µs each."""
IsTracepoint = Callable[[int, int], bool | None]
"""Whether a perf event, by process and descriptor, is one of a tracepoint; None: not told."""


@dataclass(frozen=True, slots=True, order=True)
class TracepointUser:
    """One that listens. Its name is untrusted."""

    kind: str
    """``bpf``, ``perf`` or ``ftrace``."""
    name: str
    """Of the process, or of the instance of ftrace: ``top level``, ``osnoise``."""
    pid: int
    """0: it is no process."""
    tracepoints: tuple[str, ...]
    """Without their system; empty: the kernel does not tell which."""


def tracepoint_users(
    own_pid: int, files: Files, is_tracepoint: IsTracepoint | None = None
) -> tuple[tuple[TracepointUser, ...], tuple[str, ...]]:
    """Everybody but ``own_pid``, and in words what could not be found out."""
    hidden: list[str] = []
    users = list(_ftrace_users(files, hidden))
    left = _MOST_DESCRIPTORS
    # Those who trace were started last, as a rule.
    for pid in sorted(map(int, filter(str.isdecimal, files.names("/proc"))), reverse=True):
        numbers = [] if pid == own_pid else files.names(f"/proc/{pid}/fd")
        if len(numbers) > left:
            hidden.append("processes that were started long ago, as there are too many open files")
            break
        left -= len(numbers)
        ask = is_tracepoint or perf_event_is_tracepoint
        users += _users_in(pid, numbers, files, ask, hidden) if pid != own_pid else ()
    if not is_first("pid", files.root):
        hidden.append("BPF programs and perf events outside of this container")
    return tuple(sorted(users)), tuple(dict.fromkeys(hidden))


def _users_in(
    pid: int, numbers: list[str], files: Files, is_tracepoint: IsTracepoint, hidden: list[str]
) -> Iterator[TracepointUser]:
    """What one process holds under these descriptors. It may end meanwhile."""
    names: set[str] = set()
    events: list[int] = []
    folder = f"/proc/{pid}/fd"
    held = {number: files.link(f"{folder}/{number}") for number in numbers}
    refused = held and not any(held.values()) and files.names(folder)  # it did not end meanwhile
    if refused or files.forbids_listing(folder):
        hidden.append(f"BPF programs and perf events of {_whose(pid, files)}")
    for number, where in held.items():
        if "bpf_link" in where:
            names |= _linked(files.read_again(f"/proc/{pid}/fdinfo/{number}").text)
        elif "[perf_event]" in where:
            events.append(int(number))
    if names:
        yield TracepointUser("bpf", _name(pid, files), pid, tuple(sorted(names)))
    told: bool | None = False
    for fd in events:
        if told := is_tracepoint(pid, fd):
            yield TracepointUser("perf", _name(pid, files), pid, ())
            return
        if told is None:
            hidden.append("which perf events are tracepoints (needs CAP_PERFMON, CAP_SYS_PTRACE)")
            return


def _whose(pid: int, files: Files) -> str:
    """Of a process that refuses. With the capability it may have others that we lack, as the first
    one of a machine may."""
    own = effective_capabilities(files.read_again("/proc/self/status").text)
    if own >> _CAP_SYS_PTRACE & 1:
        return f"{_name(pid, files)} (PID {pid}), which the kernel does not let noisetop read"
    return "other processes (need CAP_SYS_PTRACE)"


def _linked(fdinfo: str) -> set[str]:
    """The tracepoint of a BPF link, which all kernels tell where it is a raw one."""
    fields = dict(line.split(":", 1) for line in fdinfo.splitlines() if ":" in line)
    name = fields.get("tp_name", "").strip()
    return {name} if name else set()


def _name(pid: int, files: Files) -> str:
    return files.text(f"/proc/{pid}/comm")


def perf_event_is_tracepoint(pid: int, fd: int) -> bool | None:
    """Asks the kernel for the BPF programs of the event, which only tracepoints can have."""
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return False
    except OSError:
        return None
    try:
        return _asked(process, fd)
    finally:
        os.close(process)


def _asked(process: int, fd: int) -> bool | None:
    libc = ctypes.CDLL(None, use_errno=True)
    copy = libc.syscall(_SYS_PIDFD_GETFD, process, fd, 0)
    if copy < 0:
        return False if ctypes.get_errno() in (errno.EBADF, errno.ESRCH) else None
    try:
        fcntl.ioctl(copy, _QUERY_BPF, bytearray(8))
    except OSError as error:
        if error.errno in (errno.EPERM, errno.EACCES):
            return None
        return error.errno not in (errno.EINVAL, errno.ENOTTY)
    finally:
        os.close(copy)
    return True


def _ftrace_users(files: Files, hidden: list[str]) -> Iterator[TracepointUser]:
    """What instances of ftrace have switched on."""
    root = next((one for one in _TRACEFS if files.exists(f"{one}/set_event")), "")
    if not root or not files.read_again(f"{root}/set_event").ok:
        denied = any(files.forbids_listing(one) for one in _TRACEFS)
        hidden.append(f"ftrace ({'needs root' if root or denied else 'tracefs is not mounted'})")
        return
    instances = [f"{root}/instances/{name}" for name in files.names(f"{root}/instances")]
    for folder in (root, *instances):
        if names := _switched_on(folder, files):
            label = folder.removeprefix(f"{root}/instances/") if folder != root else "top level"
            yield TracepointUser("ftrace", label, 0, tuple(sorted(names)))


def _switched_on(folder: str, files: Files) -> set[str]:
    events = files.read_again(f"{folder}/set_event").text.split()
    names = {event.rpartition(":")[2] for event in events}
    if names and files.read_again(f"{folder}/options/record-cmd").text == "1":
        names.update(_COMMAND_NAMES)
    return names | set(_TRACERS.get(files.read_again(f"{folder}/current_tracer").text, ()))
