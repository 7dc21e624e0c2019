"""What people call a control group: systemd unit, container, Kubernetes pod. From its path alone.

Shapes: systemd's slices, scopes and services; docker, podman, CRI-O, containerd (cgroupfs and
systemd drivers) and LXC; the pods of kubelet, whose systemd driver writes ``_`` for ``-``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_UNIT = re.compile(r"[^/]+\.(?:service|scope|socket|mount|swap)")
_CONTAINER = re.compile(r"(?:.*\.slice:)?(?:([a-z-]+)[-:])?([0-9a-f]{64})(?:\.scope)?")
_LXC = re.compile(r"lxc\.payload\.(.+)")
_POD = re.compile(
    r"(?:^|-)pod([0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}|[0-9a-f]{32})(?=\.slice|:|$)"
)
_RUNTIMES = {
    "docker": "docker",
    "libpod": "podman",
    "crio": "cri-o",
    "cri-containerd": "containerd",
    "nerdctl": "containerd",
}
"""By what precedes the id of a container."""
_SHORT_ID = 12


@dataclass(frozen=True, slots=True)
class CgroupNames:
    """Names of a control group; empty where it has none."""

    path: str
    """Below the root of its hierarchy."""
    unit: str = ""
    """``redis.service``; of a user's own manager ``user@1000.service › app-x.scope``."""
    runtime: str = ""
    """``docker``, ``podman``, ``cri-o``, ``containerd``, ``lxc``."""
    container_id: str = ""
    container: str = ""
    """Its name, from the runtime's files."""
    pod: str = ""
    """UID of the Kubernetes pod."""

    @property
    def label(self) -> str:
        """The narrowest of its names: ``unit redis.service``, ``docker container web
        0123456789ab, pod UID``; else its path, empty for the root. Not harmless on a terminal."""
        pod = f"pod {self.pod}" if self.pod else ""
        if self.container_id:
            names = dict.fromkeys((self.runtime, "container", self.container, self.short_id))
            return ", ".join(filter(None, (" ".join(filter(None, names)), pod)))
        if self.unit or pod:
            return pod or f"unit {self.unit}"
        return f"cgroup {self.path}" if self.path.strip("/") else ""

    @property
    def short_id(self) -> str:
        """As the runtimes' own tables show it."""
        ident = self.container_id
        return ident[:_SHORT_ID] if _CONTAINER.fullmatch(ident) else ident


def names_of_path(path: str) -> CgroupNames:
    """The names that a path tells; the container is the innermost one."""
    steps = [step for step in path.split("/") if step]
    runtime = ident = pod = ""
    for before, step in zip(["", *steps], steps, strict=False):
        found = _container(before, step)
        if found is not None:
            runtime, ident = found
        if uid := _POD.search(step):
            pod = uid[1].replace("_", "-")
    name = ident if runtime == "lxc" else ""
    return CgroupNames(path, _unit(steps), runtime, ident, name, pod)


def _container(before: str, step: str) -> tuple[str, str] | None:
    """Runtime and id; an empty runtime is one that the path does not tell."""
    if found := _CONTAINER.fullmatch(step):
        prefix, ident = found.groups()
        if prefix is None:
            return ("docker" if before == "docker" else ""), ident
        return (_RUNTIMES[prefix], ident) if prefix in _RUNTIMES else None
    if found := _LXC.fullmatch(step):
        return "lxc", found[1]
    return ("lxc", step) if before in ("lxc", "lxc.payload") else None


def _unit(steps: list[str]) -> str:
    """As systemd reads a path: slices, then the unit, and below it what the unit made itself.
    Below the manager of a user the same once more."""
    units = []
    for step in steps:
        name = step.removeprefix("_")  # systemd escapes names that the kernel's files could have
        if name.endswith(".slice"):
            continue
        if not _UNIT.fullmatch(name):
            break
        units.append(name)
        if not name.startswith("user@"):
            break
    return " › ".join(units)
