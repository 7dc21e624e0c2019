"""What the kernel counts, read twice with some time between. None of these reads leaves its CPU."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from dataclasses import dataclass, field

from noisetop.checks.files import Files
from noisetop.checks.tasks import status_fields
from noisetop.interrupts import parse_interrupts

_SMI_COUNT = 0x34
"""MSR_SMI_COUNT of Intel CPUs (Software Developer's Manual, volume 4)."""


@dataclass(frozen=True, slots=True)
class Counters:
    """Totals since boot, or since a task was born."""

    at_ns: int
    interrupts: dict[str, dict[int, int]]
    """By the label of /proc/interrupts, then by CPU."""
    cpu_ticks: dict[int, tuple[int, ...]]
    """The columns of /proc/stat by CPU: user, nice, system, idle, iowait, irq, softirq, steal."""
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

    before: Counters
    after: Counters

    @property
    def seconds(self) -> float:
        """Time between the two."""
        return max(self.after.at_ns - self.before.at_ns, 1) / 1e9


@dataclass(frozen=True, slots=True)
class Counted:
    """What to read besides the counters of the whole machine."""

    cpus: tuple[int, ...] = ()
    threads: tuple[str, ...] = field(default=())
    """Directories of threads, ``/proc/PID/task/TID``."""
    smi_cpu: int | None = None
    """A CPU that may be disturbed: reading its SMI counter interrupts it."""


def sample(files: Files, counted: Counted) -> Counters:
    """The counters as they are now."""
    smi, smi_why = _smi(files, counted.smi_cpu)
    switches, faults = _threads(files, counted.threads)
    return Counters(
        at_ns=time.monotonic_ns(),
        interrupts=parse_interrupts(files.read_again("/proc/interrupts").text),
        cpu_ticks=_cpu_ticks(files.read_again("/proc/stat").text),
        vm=_vm(files.read_again("/proc/vmstat").text),
        throttled=_throttled(files, counted.cpus),
        switches=switches,
        major_faults=faults,
        smi=smi,
        smi_why=smi_why,
    )


def number(text: str) -> int:
    """A count, 0 where there is none."""
    return int(text) if re.fullmatch(r"[0-9]{1,20}", text) else 0


def _cpu_ticks(text: str) -> dict[int, tuple[int, ...]]:
    lines = re.findall(r"(?m)^cpu([0-9]{1,5}) (.*)$", text)
    return {int(cpu): tuple(map(number, values.split()[:10])) for cpu, values in lines}


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
    if cpu is None:
        return None, "no CPU is left that may be disturbed by reading it"
    path = f"/dev/cpu/{cpu}/msr"
    try:
        raw = files.read_at(path, 8, _SMI_COUNT)
    except FileNotFoundError:
        return None, f"{path} does not exist: modprobe msr"
    except OSError as error:
        return None, f"{path} cannot be read ({error.strerror}): run as root"
    return (int.from_bytes(raw, "little"), "") if len(raw) == 8 else (None, f"{path} is short")
