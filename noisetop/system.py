"""What this machine is: its CPUs, their isolation, names of interrupts. Reads /proc and /sys.

Every function takes ``root``, so that tests give it a tree of their own.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from noisetop.errors import UsageError

ROOT = Path("/")
MAX_CPUS = 4096
_RANGE = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")


def parse_cpu_list(text: str) -> tuple[int, ...]:
    """CPUs of a list in the kernel's format (``2-3,6``), ascending, without duplicates.

    Raises UsageError when the text is no such list or names CPUs beyond any machine.
    """
    cpus: set[int] = set()
    for part in text.strip().split(","):
        match = _RANGE.fullmatch(part.strip())
        first = int(match[1]) if match else 0
        last = int(match[2] or first) if match else -1
        if last < first:
            raise UsageError(f"'{text}' is not a CPU list: write for example 2 or 2-3,6")
        if last >= MAX_CPUS:
            raise UsageError(f"CPU {last} does not exist here: see /sys/devices/system/cpu/online")
        cpus.update(range(first, last + 1))
    return tuple(sorted(cpus))


def format_cpu_list(cpus: Iterable[int]) -> str:
    """The kernel's list format of some CPUs: ``2-3,6``."""
    parts: list[list[int]] = []
    for cpu in sorted(set(cpus)):
        if parts and cpu == parts[-1][1] + 1:
            parts[-1][1] = cpu
        else:
            parts.append([cpu, cpu])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)


def read_text(path: Path) -> str:
    """Contents of a small file, stripped; empty when it cannot be read."""
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""


def _cpu_file(name: str, root: Path) -> tuple[int, ...]:
    text = read_text(root / "sys/devices/system/cpu" / name)
    # Kernels without NO_HZ_FULL print "(null)" for nohz_full.
    return parse_cpu_list(text) if text and text[0].isdigit() else ()


def online_cpus(root: Path = ROOT) -> tuple[int, ...]:
    """CPUs that are online."""
    return _cpu_file("online", root) or tuple(range(os.cpu_count() or 1))


def present_cpus(root: Path = ROOT) -> tuple[int, ...]:
    """CPUs that are online or could be brought online without being plugged in first."""
    return tuple(sorted({*_cpu_file("present", root), *online_cpus(root)}))


def isolated_cpus(root: Path = ROOT) -> tuple[int, ...]:
    """CPUs kept out of the scheduler's domains, by isolcpus= or a cpuset partition."""
    groups = cgroup2_root(root) or Path("/sys/fs/cgroup")
    partitions = read_text(root / groups.relative_to("/") / "cpuset.cpus.isolated")
    by_cpuset = parse_cpu_list(partitions) if partitions else ()
    return tuple(sorted({*_cpu_file("isolated", root), *by_cpuset}))


def nohz_full_cpus(root: Path = ROOT) -> tuple[int, ...]:
    """CPUs whose tick may stop while one task runs."""
    return _cpu_file("nohz_full", root)


def cgroup2_root(root: Path = ROOT) -> Path | None:
    """Where the cgroup2 file system is mounted, or None."""
    for line in read_text(root / "proc/mounts").splitlines():
        fields = line.split()
        if len(fields) > 2 and fields[2] == "cgroup2":
            return Path(fields[1])
    return None


def process_tree(pid: int, root: Path = ROOT) -> tuple[int, ...]:
    """A process and all that descend from it, as they are now."""
    children: dict[int, list[int]] = {}
    for path in (root / "proc").glob("[0-9]*/stat"):
        # The name may hold spaces and parentheses: the fields follow its last one.
        fields = read_text(path).rpartition(")")[2].split()
        if len(fields) > 1:
            children.setdefault(int(fields[1]), []).append(int(path.parent.name))
    found = [pid]
    for parent in found:
        found += children.get(parent, [])
    return tuple(found)


def check_cpus(cpus: Iterable[int], root: Path = ROOT) -> tuple[int, ...]:
    """The CPUs, ascending. Raises UsageError when one is absent or offline."""
    online = online_cpus(root)
    wanted = tuple(sorted(set(cpus)))
    missing = [cpu for cpu in wanted if cpu not in online]
    if missing:
        noun = "CPU" if len(missing) == 1 else "CPUs"
        raise UsageError(
            f"{noun} {format_cpu_list(missing)} not online here: "
            f"choose from {format_cpu_list(online)}"
        )
    return wanted


def softirq_names(root: Path = ROOT) -> tuple[str, ...]:
    """Names of the softirq vectors, by number, as /proc/softirqs lists them."""
    lines = read_text(root / "proc/softirqs").splitlines()[1:]
    return tuple(line.split(":", 1)[0].strip() for line in lines)


def irq_actions(root: Path = ROOT) -> dict[int, tuple[str, ...]]:
    """Names of the actions on each device interrupt."""
    actions = {}
    for path in (root / "sys/kernel/irq").glob("[0-9]*/actions"):
        if names := read_text(path):
            actions[int(path.parent.name)] = tuple(names.split(","))
    return actions


def task_name(tid: int, root: Path = ROOT) -> str | None:
    """Name of a task as it is now, or None when it is gone."""
    return read_text(root / f"proc/{tid}/comm") or None


def describe(root: Path = ROOT) -> dict[str, object]:
    """Host, kernel, CPU topology and isolation, for the head of a recording."""
    kernel = os.uname()
    topology = {}
    for cpu in online_cpus(root):
        base = root / f"sys/devices/system/cpu/cpu{cpu}"
        nodes = [int(node.name[4:]) for node in base.glob("node[0-9]*")]
        topology[str(cpu)] = {
            "core": read_text(base / "topology/core_id"),
            "package": read_text(base / "topology/physical_package_id"),
            "siblings": read_text(base / "topology/thread_siblings_list"),
            "node": nodes[0] if nodes else 0,
        }
    return {
        "host": kernel.nodename,
        "kernel": kernel.release,
        "kernel_build": kernel.version,
        "machine": kernel.machine,
        "kernel_command_line": read_text(root / "proc/cmdline"),
        "online": format_cpu_list(online_cpus(root)),
        "isolated": format_cpu_list(isolated_cpus(root)),
        "nohz_full": format_cpu_list(nohz_full_cpus(root)),
        "clocksource": read_text(
            root / "sys/devices/system/clocksource/clocksource0/current_clocksource"
        ),
        "topology": topology,
    }
