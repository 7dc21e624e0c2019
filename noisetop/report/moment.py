"""The moment that a snapshot was made for: first in its report."""

from __future__ import annotations

from collections.abc import Iterator

from noisetop.recording.moment import (
    ANY_CPU,
    ASKED,
    GAP,
    LIMITED,
    SINGLE,
    SOURCE,
    TOTAL,
    WAIT,
    Moment,
    marks_of,
    moment_of,
)
from noisetop.recording.part import part_of
from noisetop.recording.recording import Recording
from noisetop.summary.worst import WorstInterruption, summarize_with_worst
from noisetop.text.sanitize import printable
from noisetop.text.units import format_ns

_NS_PER_S = 1_000_000_000
_WORDS = {
    SINGLE: "noise interval",
    TOTAL: "noise of a period",
    WAIT: "wait of a victim",
    SOURCE: "interruption by a source",
    GAP: "gap of a spinning thread",
}


def moment_rows(recording: Recording) -> Iterator[tuple[str, str]]:
    """Title and text of lines in the head of the report."""
    moment = moment_of(recording)
    if moment is None:
        return
    yield "moment", f"{_what(moment)}{_where(recording, moment)}; {_around(recording, moment)}"
    marks = [f"{printable(name)} at {_at(recording, ns)}" for ns, name in marks_of(recording)]
    yield "marks", ", ".join(marks)


def with_moment_first(
    recording: Recording, worst: tuple[WorstInterruption, ...]
) -> tuple[WorstInterruption, ...]:
    """The longest intervals, and before them that of the moment."""
    moment = moment_of(recording)
    if moment is None or moment.kind not in (SINGLE, SOURCE, GAP):
        return worst
    own = [one for one in worst if _is_of(one, moment)]
    if not own and moment.start_ns < moment.end_ns:
        since, until = (ns - recording.start_ns for ns in (moment.start_ns, moment.end_ns))
        _, found = summarize_with_worst(part_of(recording, since, until), 1)
        own = [one for one in found if _is_of(one, moment)]
    return (*own, *(one for one in worst if one not in own))


def _is_of(one: WorstInterruption, moment: Moment) -> bool:
    interval = one.interval
    return interval.cpu == moment.cpu and moment.overlaps(interval.start_ns, interval.end_ns)


def _what(moment: Moment) -> str:
    if moment.kind == ASKED:
        return f"asked for by {printable(moment.name)}"
    words = _WORDS.get(moment.kind, printable(moment.kind))
    named = f" ({printable(moment.name)})" if moment.name else ""
    return f"{words}{named}, {format_ns(moment.end_ns - moment.start_ns)}"


def _where(recording: Recording, moment: Moment) -> str:
    if moment.cpu == ANY_CPU:
        return ""
    return f" on CPU {moment.cpu} at {_at(recording, moment.start_ns)}"


def _around(recording: Recording, moment: Moment) -> str:
    if moment.kind == ASKED:
        return f"the last {format_ns(recording.duration_ns)}"
    before = format_ns(moment.start_ns - recording.start_ns)
    after = format_ns(recording.end_ns - moment.end_ns)
    cut = ", cut by the bound in bytes of --keep" if recording.metadata.get(LIMITED) else ""
    return f"{before} before and {after} after it{cut}"


def _at(recording: Recording, time_ns: int) -> str:
    return f"{(time_ns - recording.start_ns) / _NS_PER_S:.6f} s"
