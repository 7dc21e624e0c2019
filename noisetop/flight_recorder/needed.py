"""The few records that tell what happened on a CPU between two moments, and who caused it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from noisetop.events.layout import Events, Layout
from noisetop.events.records import Pieces, split
from noisetop.flight_recorder.retained import last_triggers
from noisetop.recording.moment import ANY_CPU
from noisetop.tables.rows import joined, select

LONGEST_NS = 1_000_000_000
"""An interval that began in a period ends within this after it, else it is not in the period."""


def needed_of(layout: Layout, pieces: Pieces, cpu: int, start_ns: int, end_ns: int) -> Events:
    """Names, triggers up to the end, of those from before the start the last of each object; what
    ran on the CPU from the one moment to the other, and waits for it that ended in between.
    ANY_CPU: what ran on any."""
    triggers = [some for one in pieces.triggers for some in _due(layout, one, start_ns, end_ns)]
    waits = [_ended(one, cpu, start_ns, end_ns) for one in pieces.waits]
    ran = [_ran(one, cpu, start_ns, end_ns) for one in pieces.events]
    none = np.empty(0, layout.event)
    return joined([none, *pieces.names, *triggers, *waits, *ran])


def needed_records(layout: Layout, events: Events, cpu: int, start_ns: int, end_ns: int) -> Events:
    """The same of records of all kinds, with all waits."""
    names, triggers, waits, ran = split(layout, events)
    pieces = Pieces([names, waits], [triggers], (), [ran])
    return needed_of(layout, pieces, cpu, start_ns, end_ns)


def _due(layout: Layout, triggers: Events, start_ns: int, end_ns: int) -> Iterator[Events]:
    starts = triggers["start_ns"]
    earlier = select(triggers, starts < start_ns)
    if len(earlier):
        yield select(earlier, last_triggers(layout, earlier))
    yield select(triggers, (starts >= start_ns) & (starts <= end_ns))


def _ended(waits: Events, cpu: int, start_ns: int, end_ns: int) -> Events:
    ends = waits["start_ns"] + waits["gross_ns"]
    mine = (ends >= start_ns) & (ends <= end_ns)
    return select(waits, mine if cpu == ANY_CPU else mine & (waits["cpu"] == cpu))


def _ran(events: Events, cpu: int, start_ns: int, end_ns: int) -> Events:
    starts = events["start_ns"]
    mine = (starts >= start_ns) & (starts + events["gross_ns"] <= end_ns)
    return select(events, mine if cpu == ANY_CPU else mine & (events["cpu"] == cpu))
