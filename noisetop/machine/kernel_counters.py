"""Counters of the kernel, read twice with some time between.

No read interrupts another CPU, but for that of SMIs.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from dataclasses import dataclass, field

from noisetop.errors import NoisetopError
from noisetop.machine.files import Files
from noisetop.machine.proc_interrupts import parse_interrupts
from noisetop.machine.smi import smis_since_boot
from noisetop.machine.stolen_time import cpu_ticks
from noisetop.machine.tasks import status_fields


@dataclass(frozen=True, slots=True)
class KernelCounters:
    """Totals since boot, or since a task was born."""

    at_ns: int
    interrupts: dict[str, dict[int, int]]
    """By the label of /proc/interrupts, then by CPU."""
    cpu_ticks: dict[int, tuple[int, ...]]
    """The columns of /proc/stat by CPU, see ``stolen_time.cpu_ticks``."""
    vm: dict[str, int]
    throttled: dict[int, int]
    switches: dict[int, int]
    """By thread."""
    major_faults: dict[int, int]
    """By thread."""
    smi: int | None = None
    smi_why: str = "not read"


@dataclass(frozen=True, slots=True)
class Window:
    """Two readings of the same counters."""

    before: KernelCounters
    after: KernelCounters

    @property
    def seconds(self) -> float:
        """Time between the two."""
        return max(self.after.at_ns - self.before.at_ns, 1) / 1e9


@dataclass(frozen=True, slots=True)
class CounterScope:
    """What to read besides the counters of the whole machine."""

    cpus: tuple[int, ...] = ()
    threads: tuple[str, ...] = field(default=())
    """Directories of threads, ``/proc/PID/task/TID``."""
    smi_cpu: int | None = None
    """A housekeeping CPU: reading its SMI counter interrupts it."""


def read_counters(files: Files, scope: CounterScope) -> KernelCounters:
    """The counters as they are now."""
    smi, smi_why = _smi(files, scope.smi_cpu)
    switches, faults = _threads(files, scope.threads)
    return KernelCounters(
        at_ns=time.monotonic_ns(),
        interrupts=parse_interrupts(files.read_again("/proc/interrupts").text),
        cpu_ticks=cpu_ticks(files.read_again("/proc/stat").text),
        vm=_vm(files.read_again("/proc/vmstat").text),
        throttled=_throttled(files, scope.cpus),
        switches=switches,
        major_faults=faults,
        smi=smi,
        smi_why=smi_why,
    )


def number(text: str) -> int:
    """A count, 0 where there is none."""
    return int(text) if re.fullmatch(r"[0-9]{1,20}", text) else 0


def _vm(text: str) -> dict[str, int]:
    return {key: number(value) for key, value in re.findall(r"(?m)^(\w+) ([0-9]+)$", text)}


def _throttled(files: Files, cpus: Iterable[int]) -> dict[int, int]:
    counts = {}
    for cpu in cpus:
        directory = f"/sys/devices/system/cpu/cpu{cpu}/thermal_throttle"
        file = files.read_again(f"{directory}/core_throttle_count")
        if file.ok and (count := file.number()) is not None:
            counts[cpu] = count
    return counts


def _threads(files: Files, directories: Iterable[str]) -> tuple[dict[int, int], dict[int, int]]:
    switches, faults = {}, {}
    for directory in directories:
        tid = number(directory.rpartition("/")[2])
        status = files.read_again(f"{directory}/status")
        stat = files.read_again(f"{directory}/stat").text.rpartition(")")[2].split()
        if not status.ok or len(stat) < 10:
            continue
        values = status_fields(status.text)
        names = ("voluntary_ctxt_switches", "nonvoluntary_ctxt_switches")
        switches[tid] = sum(number(values.get(name, "")) for name in names)
        faults[tid] = number(stat[9])
    return switches, faults


def _smi(files: Files, cpu: int | None) -> tuple[int | None, str]:
    """SMIs since boot, or None and why they are not known."""
    if cpu is None:
        return None, "no housekeeping CPU is left to read them on"
    try:
        return smis_since_boot(cpu, files.root), ""
    except NoisetopError as error:
        return None, str(error)
