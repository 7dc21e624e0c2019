"""Commands that mend something, each with the one that undoes it."""

from __future__ import annotations

import shlex

from noisetop.checks.files import FileText
from noisetop.checks.machine import Machine
from noisetop.checks.result import Remedy


def write(file: FileText, value: str, *, undo: str | None = None) -> Remedy:
    """Writes to one file of /proc or /sys; ``undo`` when the old value is not what was read."""
    old = file.text if undo is None else undo
    path = shlex.quote(file.path)
    return Remedy(f"echo {shlex.quote(value)} > {path}", f"echo {shlex.quote(old)} > {path}")


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
    old = shlex.quote(" ".join(file.text.split()))
    return Remedy(f"sysctl -w {name}={shlex.quote(value)}", f"sysctl -w {name}={old}")


def boot_argument(machine: Machine, argument: str) -> Remedy:
    """Adds to the kernel command line, with grubby where that is installed."""
    key = argument.partition("=")[0]
    if old := machine.cmdline.get(key):
        before = f"{key}={old[-1]}"
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


def pin(tids: list[int], to: str, undo: str) -> Remedy:
    """Moves threads to other CPUs."""
    if len(tids) == 1:
        return Remedy(f"taskset -pc {to} {tids[0]}", f"taskset -pc {undo} {tids[0]}")
    loop = f"for t in {' '.join(map(str, tids))}; do taskset -pc {{}} $t; done"
    return Remedy(loop.format(to), loop.format(undo))


def safe(text: str) -> str:
    """A value as read, as one word of a shell command."""
    return shlex.quote(text)
