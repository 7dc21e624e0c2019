"""The few records that tell what happened on a CPU between two moments, and who caused it."""

from __future__ import annotations

import numpy as np

from noisetop.events.layout import Events, Layout
from noisetop.recording.moment import ANY_CPU
from noisetop.tables.rows import select


def needed_records(
    layout: Layout, events: Events, cpu: int, start_ns: int, end_ns: int, *, waits: bool = False
) -> Events:
    """Names, triggers up to the end, and what ran on the CPU from the one moment to the other;
    with ``waits`` those of the whole time and all CPUs. ANY_CPU: what ran on any."""
    starts, flags = events["start_ns"], layout.flags
    chosen = events["flags"] & np.uint8(flags["NAME"]) != 0
    chosen |= (events["flags"] & np.uint8(flags["TRIGGER"]) != 0) & (starts <= end_ns)
    if waits:
        chosen |= events["flags"] & np.uint8(flags["WAIT"]) != 0
    ran = (events["flags"] & np.uint8(layout.no_interval) == 0) & (starts >= start_ns)
    if cpu != ANY_CPU:
        ran &= events["cpu"] == cpu
    ran[ran] = starts[ran] + events["gross_ns"][ran] <= end_ns
    return select(events, chosen | ran)
