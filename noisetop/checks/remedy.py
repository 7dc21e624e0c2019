"""Commands that mend something, each with the one that undoes it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from noisetop.checks.audited import AuditedMachine
from noisetop.checks.result import Remedy
from noisetop.machine.files import FileText, shortened
from noisetop.machine.tasks import Task
from noisetop.text.cpu_list import format_cpu_list

_NAMED_AT_MOST = 60
_LONGEST_VALUE = 200
_UNKNOWN = "# write back by hand what {} held"


def write(file: FileText, value: str, *, undo: str | None = None) -> Remedy:
    """Writes to one file of /proc or /sys; ``undo`` when the old value is not what was read."""
    old = file.text if undo is None else undo
    path = shlex.quote(file.path)
    back = f"echo {shlex.quote(old)} > {path}" if _fits(old) else _UNKNOWN.format(path)
    return Remedy(f"echo {shlex.quote(value)} > {path}", back)


def _fits(value: str) -> bool:
    """Whether an old value is one that the kernel could have printed there."""
    return len(value) <= _LONGEST_VALUE and value.isprintable()


def write_each(directory: str, names: list[str], name: str, value: str, undo: str) -> Remedy:
    """Writes the same value to ``directory/<names>/name``."""
    if len(names) == 1:
        path = shlex.quote(f"{directory}/{names[0]}/{name}")
        return Remedy(f"echo {value} > {path}", f"echo {undo} > {path}")
    items = shlex.join(names)
    loop = f"for i in {items}; do echo {{}} > {directory}/$i/{name}; done"
    return Remedy(loop.format(value), loop.format(undo))


def sysctl(file: FileText, value: str) -> Remedy:
    """Sets a file below /proc/sys; the undo restores what was read."""
    name = file.path.removeprefix("/proc/sys/").replace("/", ".")
    old = " ".join(file.text.split())
    back = f"sysctl -w {name}={shlex.quote(old)}" if _fits(old) else _UNKNOWN.format(file.path)
    return Remedy(f"sysctl -w {name}={shlex.quote(value)}", back)


def boot_argument(machine: AuditedMachine, argument: str) -> Remedy:
    """Adds to the kernel command line, with grubby where that is installed."""
    key = argument.partition("=")[0]
    if old := machine.cmdline.get(key):
        before = shortened(f"{key}={old[-1]}", _LONGEST_VALUE)
        return Remedy(
            f"change {before} into {argument} on the kernel command line",
            f"change {argument} into {before}",
            reboot=True,
            shell=False,
        )
    if machine.exists("/usr/sbin/grubby") or machine.exists("/sbin/grubby"):
        quoted = shlex.quote(argument)
        return Remedy(
            f"grubby --update-kernel=ALL --args={quoted}",
            f"grubby --update-kernel=ALL --remove-args={quoted}",
            reboot=True,
        )
    return Remedy(
        f"add {argument} to the kernel command line",
        f"remove {argument} from it",
        reboot=True,
        shell=False,
    )


def pin(tasks: Sequence[Task], to: str) -> Remedy:
    """Moves threads to other CPUs; the undo gives each the CPUs that it had."""
    by_old: dict[str, list[str]] = {}
    for task in tasks[:_NAMED_AT_MOST]:
        by_old.setdefault(format_cpu_list(task.allowed or ()), []).append(str(task.tid))
    every = [tid for tids in by_old.values() for tid in tids]
    back = [_taskset(tids, old) for old, tids in by_old.items()]
    return Remedy(_taskset(every, to), "; ".join(back))


def _taskset(tids: list[str], cpus: str) -> str:
    if len(tids) == 1:
        return f"taskset -pc {cpus} {tids[0]}"
    return f"for t in {' '.join(tids)}; do taskset -pc {cpus} $t; done"


def safe(text: str) -> str:
    """A value as read, as one word of a shell command."""
    return shlex.quote(text if _fits(text) else "?")
