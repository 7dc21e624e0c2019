"""Where CPUs lie: what they share decides which noise reaches them together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, order=True)
class CpuPlace:
    """Of one CPU. What is not known is -1 and the empty text."""

    package: int = -1
    node: int = -1
    """Of memory."""
    cache: str = ""
    """CPUs that share the last-level cache, in the kernel's list format."""
    core: int = -1

    @property
    def group(self) -> tuple[int, int, str]:
        """Equal for CPUs that share all but the core."""
        return self.package, self.node, self.cache


def places_of(topology: object) -> dict[int, CpuPlace]:
    """From what noisetop.machine.system.describe() calls topology, which may be of a recording and
    so of any form."""
    if not isinstance(topology, Mapping):
        return {}
    return {
        int(cpu): _place(told)
        for cpu, told in topology.items()
        if str(cpu).isdecimal() and isinstance(told, Mapping)
    }


def _place(told: Mapping[Any, Any]) -> CpuPlace:
    return CpuPlace(
        _number(told.get("package")),
        _number(told.get("node")),
        str(told.get("cache") or ""),
        _number(told.get("core")),
    )


def _number(value: object) -> int:
    text = str(value)
    return int(text) if text.isdecimal() and len(text) < 10 else -1


def in_groups(cpus: Iterable[int], places: Mapping[int, CpuPlace]) -> list[list[int]]:
    """CPUs by what they share, threads of a core side by side."""
    groups: dict[tuple[int, int, str], list[tuple[int, int]]] = {}
    for cpu in cpus:
        place = places.get(cpu, CpuPlace())
        groups.setdefault(place.group, []).append((place.core, cpu))
    ordered = sorted(groups.values(), key=lambda group: min(cpu for _, cpu in group))
    return [[cpu for _, cpu in sorted(group)] for group in ordered]


def group_name(cpu: int, places: Mapping[int, CpuPlace]) -> str:
    """``package 0, node 1, cache 8-15``; empty where nothing is known."""
    place = places.get(cpu, CpuPlace())
    parts = [
        f"package {place.package}" if place.package >= 0 else "",
        f"node {place.node}" if place.node >= 0 else "",
        f"cache {place.cache}" if place.cache else "",
    ]
    return ", ".join(filter(None, parts))
