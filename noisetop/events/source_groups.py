"""What a source is called on every host: its path without the numbers that differ between hosts."""

from __future__ import annotations

import re

from noisetop.events.interruption import Source

_KWORKER = re.compile(r"kworker/.*")
_IRQ_NUMBER = re.compile(r"\d+ ")
_NUMBER = re.compile(r"\d+")
_NAMED_BY_HOST = ("irq", "thread")
"""Classes whose second step is a name that people and drivers choose, with numbers in it. All other
steps are those of the kernel: its functions keep their numbers."""


def group_label(source: Source) -> str:
    """``irq › virtio*-req.*``, ``thread › kworker/* › vmstat_update``, ``softirq › RCU``."""
    return " › ".join(group_path(source.path))


def group_path(path: tuple[str, ...]) -> tuple[str, ...]:
    """The steps of that label."""
    if len(path) < 2 or path[0] not in _NAMED_BY_HOST:
        return path
    name = path[1]
    if path[0] == "irq":
        name = _IRQ_NUMBER.sub("", name, count=1)
    name = _NUMBER.sub("*", _KWORKER.sub("kworker/*", name))
    return (path[0], name, *path[2:])
