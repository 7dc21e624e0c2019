"""What this machine is: its CPUs, their isolation, names of interrupts. Reads /proc and /sys.

Every function takes ``root``, so that tests give it a tree of their own.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from noisetop.errors import UsageError
from noisetop.machine import isolation
from noisetop.machine.cgroups import cgroup2_mount
from noisetop.machine.cpu_model import cpu_model
from noisetop.machine.reading import Read
from noisetop.text.cpu_list import cpu_set, format_cpu_list, parse_cpu_list

ROOT = Path("/")


def read_text(path: Path) -> str:
    """Contents of a small file, stripped; empty when it cannot be read."""
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""


def _cpu_file(name: str, root: Path) -> tuple[int, ...]:
    text = read_text(root / "sys/devices/system/cpu" / name)
    return tuple(sorted(cpu_set(text) or ()))


def online_cpus(root: Path = ROOT) -> tuple[int, ...]:
    """CPUs that are online."""
    return _cpu_file("online", root) or tuple(range(os.cpu_count() or 1))


def present_cpus(root: Path = ROOT) -> tuple[int, ...]:
    """CPUs that are online or could be brought online without being plugged in first."""
    return tuple(sorted({*_cpu_file("present", root), *online_cpus(root)}))


def isolated_cpus(root: Path = ROOT) -> tuple[int, ...]:
    """CPUs kept out of the scheduler's domains, by isolcpus= or a cpuset partition."""
    return tuple(sorted(isolation.isolated(reader(root))))


def nohz_full_cpus(root: Path = ROOT) -> tuple[int, ...]:
    """CPUs whose tick may stop while one task runs."""
    return tuple(sorted(isolation.nohz_full(reader(root))))


def reader(root: Path = ROOT) -> Read:
    """Reads files below a root."""
    return lambda path: read_text(root / path.lstrip("/"))


def cgroup2_root(root: Path = ROOT) -> Path | None:
    """Where the cgroup2 file system is mounted, or None."""
    mount = cgroup2_mount(read_text(root / "proc/mounts"))
    return Path(mount) if mount else None


def process_ids(root: Path = ROOT) -> frozenset[int]:
    """All processes, by PID."""
    return frozenset(int(one.name) for one in (root / "proc").iterdir() if one.name.isdecimal())


def task_exists(tid: int, root: Path = ROOT) -> bool:
    """Whether there is a thread of that number."""
    # A Path takes longer than the system call.
    return os.access(f"{root}/proc/{tid}", os.F_OK, effective_ids=True)


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


def cpus_from_list(text: str, root: Path = ROOT) -> tuple[int, ...]:
    """CPUs of a list like ``2-3,6``, ascending. Raises UsageError when one is absent or offline,
    or where the text is no such list."""
    return check_cpus(parse_cpu_list(text), root)


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


def boot_id(root: Path = ROOT) -> str:
    """Another text after each start of the machine; empty where the kernel does not tell."""
    return read_text(root / "proc/sys/kernel/random/boot_id")


def describe(root: Path = ROOT) -> dict[str, object]:
    """Host, kernel, CPU model, topology and isolation, for the head of a recording."""
    kernel = os.uname()
    return {
        "host": kernel.nodename,
        "kernel": kernel.release,
        "kernel_build": kernel.version,
        "machine": kernel.machine,
        "cpu_model": cpu_model(reader(root)),
        "kernel_command_line": read_text(root / "proc/cmdline"),
        "online": format_cpu_list(online_cpus(root)),
        "isolated": format_cpu_list(isolated_cpus(root)),
        "nohz_full": format_cpu_list(nohz_full_cpus(root)),
        "clocksource": read_text(
            root / "sys/devices/system/clocksource/clocksource0/current_clocksource"
        ),
        "topology": topology(root),
    }


def topology(root: Path = ROOT) -> dict[str, dict[str, object]]:
    """Where each online CPU lies, by its number; see noisetop.machine.topology."""
    found: dict[str, dict[str, object]] = {}
    for cpu in online_cpus(root):
        base = root / f"sys/devices/system/cpu/cpu{cpu}"
        nodes = [int(node.name[4:]) for node in base.glob("node[0-9]*")]
        # They are numbered from the first level on.
        caches = sorted(base.glob("cache/index[0-9]"))
        found[str(cpu)] = {
            "core": read_text(base / "topology/core_id"),
            "package": read_text(base / "topology/physical_package_id"),
            "siblings": read_text(base / "topology/thread_siblings_list"),
            "node": nodes[0] if nodes else 0,
            "cache": read_text(caches[-1] / "shared_cpu_list") if caches else "",
        }
    return found
