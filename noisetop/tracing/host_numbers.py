"""The kernel's own numbers of tasks and levels of control groups, seen from a container.

The programs compare with what the kernel has for the first namespaces. Elsewhere it is asked once
for the numbers of all tasks of our PID namespace, as /proc tells none of them.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from noisetop import _native
from noisetop.errors import NoisetopError
from noisetop.machine.namespaces import (
    cgroup2_mount_depth,
    is_first,
    own_cgroup_depth,
    proc_is_ours,
)
from noisetop.machine.system import ROOT

_ON_THE_HOST = "run noisetop on the host, or in a container with the host's namespaces"


@dataclass
class HostNumbers:
    """Translates. Asks the kernel when it is first needed, and knows the tasks of that moment.

    All methods raise NoisetopError where the kernel does not tell.
    """

    has_btf: bool = True
    """Whether the kernel describes its types."""
    root: Path = ROOT

    def task(self, number: int) -> int:
        """The kernel's number of a process or thread of our PID namespace."""
        if self.is_same:
            return number
        if not proc_is_ours(self.root):
            raise NoisetopError(
                "/proc is that of another PID namespace: mount -t proc proc /proc, or unshare with "
                "--mount-proc"
            )
        if number not in self._rows:
            raise NoisetopError(f"there is no task {number} any more: see ps -eL")
        return self._rows[number][0]

    @cached_property
    def is_same(self) -> bool:
        """Whether our numbers of tasks are the kernel's."""
        return is_first("pid", self.root)

    def cgroup_level(self, below_mount: int) -> int:
        """The level below the kernel's root of a control group that is so many levels below where
        the file system is mounted."""
        level = below_mount + cgroup2_mount_depth(self.root)
        if is_first("cgroup", self.root):
            return level
        _, own_level = self._rows[os.getpid()]
        return level + own_level - own_cgroup_depth(self.root)

    @cached_property
    def _rows(self) -> dict[int, tuple[int, int]]:
        """The kernel's number and the level of the control group of each task."""
        if not self.has_btf:
            raise NoisetopError(f"a container needs a kernel with BTF: {_ON_THE_HOST}")
        try:
            rows = _native.host_tasks()
        except OSError as error:
            raise NoisetopError(
                f"the kernel does not tell its numbers of the tasks here ({error.strerror}): "
                f"{_ON_THE_HOST}"
            ) from None
        return {number: (host, level) for number, host, level in rows}
