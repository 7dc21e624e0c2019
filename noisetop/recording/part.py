"""A part of a recording, between two moments."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from noisetop.errors import UsageError
from noisetop.events.interruption import NO_ENTRY, Interruptions
from noisetop.events.waits import WaitBook
from noisetop.recording.recording import Recording
from noisetop.tables.rows import select
from noisetop.text.units import format_ns


def part_of(recording: Recording, from_ns: int, to_ns: int | None) -> Recording:
    """The part from one moment after the start to another, None: the end. Where the time of victims
    went, their waits and what the whole run counted are not known of it, and are left out.

    Raises UsageError where there is no such part.
    """
    duration_ns = recording.duration_ns
    until_ns = duration_ns if to_ns is None else min(to_ns, duration_ns)
    if not from_ns < until_ns:
        raise UsageError(
            f"no part from {format_ns(from_ns)} to {format_ns(until_ns)}: --from comes before "
            f"--to, and the recording takes {format_ns(duration_ns)}"
        )
    start_ns, end_ns = recording.start_ns + from_ns, recording.start_ns + until_ns
    part = replace(
        recording,
        start_ns=start_ns,
        end_ns=end_ns,
        read_chunks=lambda: _chunks(part),
        counters=recording.counters.part(start_ns, end_ns),
        waits=WaitBook(),
        victims={},
        whole=recording,
    )
    return part


def _chunks(part: Recording) -> Iterator[Interruptions]:
    if part.whole is not None:
        for chunk in part.whole.all_chunks():
            yield _cut(chunk, part.start_ns, part.end_ns)
        part.damage = part.whole.damage


def _cut(table: Interruptions, start_ns: int, end_ns: int) -> Interruptions:
    """What lies in the part. Of what reaches out of it the net time is taken in proportion, so that
    the net times of all parts add up to that of the whole; it is a count of each of them."""
    begin = table["start_ns"].astype(np.int64)
    end = begin + table["gross_ns"].astype(np.int64)
    inside = (begin < end_ns) & (end > start_ns) | (begin == end) & (begin == start_ns)
    table, begin, end = select(table, inside), begin[inside], end[inside]
    crossing = np.flatnonzero((begin < start_ns) | (end > end_ns))
    if not len(crossing):
        return table
    table = table.copy()
    for at in crossing.tolist():
        gross_ns, net_ns = int(end[at] - begin[at]), int(table["net_ns"][at])
        first_ns, last_ns = max(begin[at], start_ns), min(end[at], end_ns)
        before, until = (net_ns * int(ns - begin[at]) // gross_ns for ns in (first_ns, last_ns))
        table["start_ns"][at], table["gross_ns"][at] = first_ns, last_ns - first_ns
        table["net_ns"][at] = until - before
        if first_ns > begin[at]:  # the entry was before
            table["flags"][at] &= NO_ENTRY
    return table
