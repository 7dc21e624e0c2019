"""Isolated CPUs: by isolcpus=, by cpuset partitions, by nohz_full=.

Every function takes a way to read files, so that the checks see each file once.
"""

from __future__ import annotations

from noisetop.machine.cgroups import cgroup2_mount
from noisetop.machine.reading import Read
from noisetop.text.cpu_list import cpu_set

_CPU_DIRECTORY = "/sys/devices/system/cpu"


def isolated(read: Read) -> frozenset[int]:
    """CPUs outside the scheduler's domains, by isolcpus= or by a cpuset partition."""
    return (cpu_set(read(f"{_CPU_DIRECTORY}/isolated")) or frozenset()) | _partitioned(read)


def _partitioned(read: Read) -> frozenset[int]:
    """CPUs in isolated cpuset partitions, as the root cgroup lists them."""
    mount = cgroup2_mount(read("/proc/mounts"))
    return (cpu_set(read(f"{mount}/cpuset.cpus.isolated")) if mount else None) or frozenset()


def nohz_full(read: Read) -> frozenset[int]:
    """CPUs whose tick may stop while one task runs."""
    return cpu_set(read(f"{_CPU_DIRECTORY}/nohz_full")) or frozenset()
