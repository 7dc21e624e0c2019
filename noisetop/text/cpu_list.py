"""CPU lists in the kernel's list format."""

from __future__ import annotations

import re
from collections.abc import Iterable

from noisetop.errors import UsageError

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


def cpu_set(text: str) -> frozenset[int] | None:
    """CPUs of a list as a file of the kernel holds it, None when it is none.

    No CPU for an empty file and for ``(null)``, as kernels without NO_HZ_FULL print nohz_full.
    """
    if text in ("", "(null)"):
        return frozenset()
    try:
        return frozenset(parse_cpu_list(text))
    except UsageError:
        return None


def format_cpu_list(cpus: Iterable[int]) -> str:
    """The kernel's list format of some CPUs: ``2-3,6``."""
    parts: list[list[int]] = []
    for cpu in sorted(set(cpus)):
        if parts and cpu == parts[-1][1] + 1:
            parts[-1][1] = cpu
        else:
            parts.append([cpu, cpu])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)
