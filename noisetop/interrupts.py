"""/proc/interrupts: how often each CPU took each interrupt since boot."""

from __future__ import annotations

import re

_CPU = re.compile(r"CPU([0-9]{1,5})")
_COUNT = re.compile(r"[0-9]{1,20}")


def parse_interrupts(text: str) -> dict[str, dict[int, int]]:
    """Counts by label (``36``, ``NMI``), then by CPU; the file shows online CPUs only.

    Rows that do not count by CPU (ERR, MIS) are left out.
    """
    head, *lines = text.splitlines() or [""]
    cpus = [int(match[1]) for name in head.split() if (match := _CPU.fullmatch(name))]
    counts = {}
    for line in lines:
        label, colon, rest = line.partition(":")
        values = rest.split(maxsplit=len(cpus))[: len(cpus)]
        if colon and len(values) == len(cpus) and all(map(_COUNT.fullmatch, values)):
            counts[label.strip()] = dict(zip(cpus, map(int, values), strict=True))
    return counts
