"""One machine: its CPUs, their isolation, its tasks."""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from noisetop.machine import isolation
from noisetop.machine.cgroups import cgroup2_mount
from noisetop.machine.files import LARGEST_FILE, Files, hex_mask, shortened
from noisetop.machine.reading import Reading
from noisetop.machine.system import ROOT
from noisetop.machine.tasks import Task, read_task
from noisetop.text.cpu_list import format_cpu_list, parse_cpu_list

_CPU_DIRECTORY = "/sys/devices/system/cpu"


@dataclass(frozen=True, slots=True)
class OpenFile:
    """A file that a process holds open."""

    pid: int
    path: str
    """``/proc/PID/fd/N``."""
    target: str
    label: str
    """Name and number of the process."""


class Machine(Files):
    """One machine and the CPUs of it that are watched. Reads lazily and changes nothing."""

    def __init__(
        self,
        root: Path = ROOT,
        *,
        cpus: Iterable[int] | None = None,
        pid: int | None = None,
    ) -> None:
        super().__init__(root)
        self.pid = pid
        chosen = tuple(cpus) if cpus is not None else ()
        self.cpus = tuple(sorted(set(chosen or self.isolated or self.online)))

    # CPUs.

    @cached_property
    def online(self) -> tuple[int, ...]:
        """CPUs that are online; those that this process may use where the file is hidden."""
        listed = self.read(f"{_CPU_DIRECTORY}/online").cpus()
        return tuple(sorted(listed or os.sched_getaffinity(0)))

    @cached_property
    def isolated(self) -> frozenset[int]:
        """CPUs outside the scheduler's domains, by isolcpus= or by a cpuset partition."""
        return isolation.isolated(self.text)

    @cached_property
    def nohz_full(self) -> frozenset[int]:
        """CPUs whose tick may stop while one program runs."""
        return isolation.nohz_full(self.text)

    @cached_property
    def housekeeping(self) -> tuple[int, ...]:
        """Online CPUs that are neither watched nor isolated nor in nohz_full."""
        reserved = {*self.cpus, *self.isolated, *self.nohz_full}
        return tuple(cpu for cpu in self.online if cpu not in reserved)

    @property
    def keep(self) -> str:
        """CPUs to move things to, as a list: the housekeeping CPUs or the nearest to that."""
        others = tuple(cpu for cpu in self.online if cpu not in self.cpus)
        return format_cpu_list(self.housekeeping or others or self.online[:1])

    @property
    def keep_mask(self) -> str:
        """The same as a hexadecimal mask."""
        return hex_mask(parse_cpu_list(self.keep))

    @property
    def watched(self) -> str:
        """The watched CPUs as a list; all but the first when every CPU is watched."""
        spare = tuple(cpu for cpu in self.cpus if cpu not in self.online[:1])
        return format_cpu_list(self.cpus if self.has_spare or not spare else spare)

    @property
    def has_spare(self) -> bool:
        """Whether a CPU is online that is not watched."""
        return any(cpu not in self.cpus for cpu in self.online)

    def hit(self, cpus: Iterable[int]) -> tuple[int, ...]:
        """The watched ones among some CPUs, ascending."""
        return tuple(sorted(set(self.cpus).intersection(cpus)))

    # Surroundings.

    @cached_property
    def cmdline(self) -> dict[str, list[str]]:
        """The kernel command line: the values of each parameter in order."""
        text = self.read("/proc/cmdline").text
        parameters: dict[str, list[str]] = {}
        for word in text.split():
            key, _, value = word.partition("=")
            parameters.setdefault(key, []).append(value.strip('"'))
        return parameters

    def parameter(self, *keys: str) -> Reading:
        """What the kernel command line says about some parameters, for the evidence."""
        file = self.read("/proc/cmdline")
        if not file.ok:
            return file.reading
        given = [
            f"{key}={self.cmdline[key][-1]}".rstrip("=") for key in keys if key in self.cmdline
        ]
        missing = " or ".join(f"{key}=" if len(keys) == 1 else key for key in keys)
        return Reading(file.path, shortened(" ".join(given)) if given else f"without {missing}")

    @cached_property
    def virtual(self) -> str:
        """How it shows that this is a virtual machine; empty when nothing does."""
        if "hypervisor" in self.cpu_flags:
            return "/proc/cpuinfo has the flag hypervisor"
        for path in ("/sys/hypervisor/type", "/proc/device-tree/hypervisor"):
            if self.exists(path):
                return f"{path} exists"
        return ""

    @cached_property
    def cpu_flags(self) -> frozenset[str]:
        """Features of the first CPU in /proc/cpuinfo; empty where that lists none."""
        match = re.search(r"(?m)^(?:flags|Features)\s*:(.*)$", self.read("/proc/cpuinfo").text)
        return frozenset(match[1].split()) if match else frozenset()

    @cached_property
    def cgroup2(self) -> str:
        """Where cgroup v2 is mounted; empty when it is not."""
        return cgroup2_mount(self.read("/proc/mounts").text)

    @cached_property
    def config(self) -> dict[str, str] | None:
        """Options that the kernel was built with, or None when the list is not there."""
        release = self.read("/proc/sys/kernel/osrelease").text
        names = [f"/boot/config-{release}", f"/lib/modules/{release}/config"]
        text = self._config_gz() or next((t for n in names if (t := self.read(n).text)), "")
        options = re.findall(r"(?m)^(CONFIG_\w+)=(.*)$", text)
        return dict(options) if options else None

    def _config_gz(self) -> str:
        try:
            packed = self.read_bytes("/proc/config.gz")
            unpack = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
            return unpack.decompress(packed, LARGEST_FILE).decode(errors="replace")
        except (OSError, zlib.error):
            return ""

    # Tasks.

    @cached_property
    def tasks(self) -> tuple[Task, ...]:
        """All threads that can be seen."""
        names = self.glob("/proc", "[0-9]*/task/[0-9]*")
        return tuple(task for name in names if (task := read_task(self, name)))

    @cached_property
    def tasks_hidden(self) -> str:
        """Why not every task can be seen; empty when all can."""
        if not self.kernel_threads_visible:
            return "kernel threads and other programs are hidden from here (container or hidepid)"
        if any(task.allowed is None for task in self.tasks):
            return "some tasks may not be read (hidepid): run as root"
        return ""

    @cached_property
    def workload(self) -> tuple[Task, ...]:
        """Threads that the user cares for: those of ``pid``, or those pinned to watched CPUs."""
        if self.pid is not None:
            return tuple(task for task in self.tasks if task.pid == self.pid)
        if not self.has_spare:
            return ()
        own = set(self.cpus)
        return tuple(
            task
            for task in self.tasks
            if not task.kernel and task.allowed and task.allowed <= own and task.pid != os.getpid()
        )

    @cached_property
    def open_files(self) -> tuple[OpenFile, ...]:
        """Devices and kernel objects that processes hold open and that matter to checks."""
        found = []
        for path in self.glob("/proc", "[0-9]*/fd/*"):
            target = self.link(path)
            if target == "/dev/cpu_dma_latency" or target.startswith("anon_inode:"):
                found.append(OpenFile(int(path.split("/")[2]), path, target, self._name_of(path)))
        return tuple(found)

    def _name_of(self, path: str) -> str:
        pid = path.split("/")[2]
        return f"{self.read(f'/proc/{pid}/comm').text or '?'} ({pid})"

    @cached_property
    def open_files_hidden(self) -> bool:
        """Whether some process does not let us see what it holds open."""
        if self.tasks_hidden or not self.tasks:
            return True
        users = {task.pid for task in self.tasks if not task.kernel}
        return any(self.forbids_listing(f"/proc/{pid}/fd") for pid in users)


def quoted(names: Iterable[str], most: int = 8) -> str:
    """Names for a sentence, shortened."""
    listed = [shortened(name, 64) for name in names]
    more = f" and {len(listed) - most} more" if len(listed) > most else ""
    return ", ".join(listed[:most]) + more


def cpu_words(cpus: Iterable[int]) -> str:
    """``CPU 2`` or ``CPUs 2-3``."""
    listed = tuple(cpus)
    return f"{'CPU' if len(listed) == 1 else 'CPUs'} {format_cpu_list(listed)}"
