"""Which of two regular things a guest's tick is."""

from __future__ import annotations

import numpy as np

from noisetop.events.interruption import INTERRUPTION, Source
from noisetop.gaps.explain import Explanation
from noisetop.gaps.gaps import Gaps
from noisetop.probe.spin_result import regular_of

MS = 1_000_000
SOURCES = [
    Source(("timer", "local_timer")),
    Source(("timer", "local_timer", "tick_nohz_handler")),
    Source(("irq", "36 virtio1-req.0")),
]


def gaps_of_host_and_guest() -> tuple[Gaps, np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """The host's tick every millisecond, the guest's every four; which gaps are the guest's."""
    host = np.arange(0, 1_000 * MS, MS, dtype=np.int64)
    guest = np.arange(MS // 3, 1_000 * MS, 4 * MS, dtype=np.int64)
    start = np.sort(np.concatenate([host, guest]))
    length = np.full(len(start), 5_000, np.int64)
    gaps = Gaps(start, start + length, active_ns=1_000 * MS, unstored_count=0, unstored_ns=0)
    return gaps, np.flatnonzero(np.isin(start, guest))


def explained(
    gaps: Gaps, held: np.ndarray[tuple[int], np.dtype[np.int64]], source: int
) -> Explanation:
    inside = np.zeros(len(held), INTERRUPTION)
    inside["source"] = source
    nothing = np.zeros(gaps.count, np.int64)
    return Explanation(
        gaps, (), (), (), (), nothing, nothing, {}, inside=inside, gap_of=held.astype(np.int64)
    )


def test_the_guests_tick_is_what_its_events_say() -> None:
    gaps, held = gaps_of_host_and_guest()
    found = regular_of(gaps, explained(gaps, held, source=1), SOURCES)
    assert found
    assert round(found.period_ns) == 4 * MS
    assert found.count == len(held)


def test_without_a_trace_or_a_tick_it_is_what_comes_most_often() -> None:
    gaps, held = gaps_of_host_and_guest()
    for explanation in (None, explained(gaps, held, source=2), explained(gaps, held[:3], source=1)):
        found = regular_of(gaps, explanation, SOURCES)
        assert found
        assert round(found.period_ns) == MS
