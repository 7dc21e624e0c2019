"""Values of labels: names from the kernel in one line, without what makes a series of each task."""

from __future__ import annotations

import re

from noisetop.events.interruption import OTHER, Source
from noisetop.events.source_groups import group_label
from noisetop.machine.cgroup_names import CgroupNames
from noisetop.text.sanitize import printable

UNKNOWN = "unknown"
_LONGEST = 160
_NUMBER = re.compile(r"\d+")
_PASSING = re.compile(r"\.scope$|^run-|^session-")
"""Units that are made for a moment: their numbers, or what follows ``run-``, differ each time."""
_RUN = re.compile(r"^run-[a-z]?[0-9a-f]{4,}\b")


def source_value(source: Source) -> str:
    """``thread › kworker/* › vmstat_update``; OTHER of what stands for many of its class."""
    if source == source.other:
        return OTHER
    return _bounded(group_label(source))


def cgroup_value(names: CgroupNames) -> str:
    """``pod UID``, ``docker web``, ``redis.service``, else the path; UNKNOWN where that is not
    known. Of a pod all containers together."""
    if names.pod:
        return f"pod {names.pod}"
    if names.container_id:
        container = names.container or names.short_id
        return _bounded(" ".join(filter(None, (names.runtime, container))))
    if names.unit:
        return _bounded(" › ".join(map(_unit_value, names.unit.split(" › "))))
    return _bounded(names.path) if names.path else UNKNOWN


def _unit_value(unit: str) -> str:
    if not _PASSING.search(unit):
        return unit
    return _NUMBER.sub("*", _RUN.sub("run-*", unit))


def _bounded(text: str) -> str:
    value = printable(text)
    return value if len(value) <= _LONGEST else f"{value[: _LONGEST - 1]}…"
