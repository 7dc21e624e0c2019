"""Within an interval much is read in pieces, and what a sample tells does not depend on them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Any

import pytest

from noisetop.events.interruption import Interruptions
from noisetop.live.reading_steps import ReadingSteps
from tests.live.made_up_tracer import RAN_NS, SECOND_NS, VICTIM, MadeUpTracer, samples
from tests.live.test_playback import Spanning, assert_same
from tests.recordings import START_NS


def test_little_is_read_at_the_end_of_an_interval_alone() -> None:
    steps = ReadingSteps()
    assert list(steps.moments(START_NS, START_NS + SECOND_NS)) == []
    steps.took(1_000, SECOND_NS)
    assert list(steps.moments(START_NS, START_NS + SECOND_NS)) == []


@pytest.mark.parametrize("rows", [100_000, 10_000_000])
def test_much_is_read_in_pieces_of_bounded_size(rows: int) -> None:
    steps = ReadingSteps()
    steps.took(rows, SECOND_NS)
    moments = list(steps.moments(START_NS, START_NS + SECOND_NS))
    pieces = len(moments) + 1
    assert moments == sorted(moments)
    assert START_NS < moments[0] <= moments[-1] < START_NS + SECOND_NS
    assert rows // 30_000 <= pieces or pieces == 20
    assert pieces <= 20


def test_a_step_follows_what_came_in_the_last_one() -> None:
    steps = ReadingSteps()
    moments = steps.moments(START_NS, START_NS + 60 * SECOND_NS)
    first = next(moments)
    steps.took(400_000, first - START_NS)
    second = next(moments)
    assert second - first < (first - START_NS) // 2
    steps.took(0, second - first)
    assert next(moments) - second == first - START_NS


@dataclass
class Always(ReadingSteps):
    """Reads each second, however little comes."""

    _step_ns: int = SECOND_NS

    def took(self, rows: int, in_ns: int) -> None:
        pass


@dataclass
class Never(Always):
    """Reads at the end of an interval alone."""

    _step_ns: int = 1 << 60


@pytest.mark.parametrize("make", [lambda: MadeUpTracer(20), Spanning], ids=["short", "spanning"])
def test_samples_are_those_of_one_reading_at_the_end(make: Any) -> None:
    told = []
    for steps in (Always(), Never()):
        tracer = make()
        live = samples(tracer, 4 * SECOND_NS, keeps_moments=True, _steps=steps)
        found = []
        for sample, feed in islice(live, 3):
            feed.want_moments(wanted=True)
            found.append(sample)
        told.append((tracer.reads, found))
    (often, ours), (seldom, theirs) = told
    assert (often, seldom) == (12, 3)
    for one, other in zip(ours, theirs, strict=True):
        assert_same(one.total, other.total)
        assert_same(one.interval, other.interval)
        assert one.moments == other.moments
    assert ours[-1].moments


def test_waits_of_a_long_interval_know_who_ran() -> None:
    tracer = MadeUpTracer(20)
    sample, _ = next(samples(tracer, 40 * SECOND_NS))
    (victim,) = (one for one in sample.interval.victims if one.time.tid == VICTIM)
    assert victim.time.unattributed_ns == 0
    assert victim.time.contention_ns == 40 * 20 * RAN_NS


def test_tables_that_are_handed_on_are_all_of_the_interval() -> None:
    counts: list[int] = []

    def count(ended: Interruptions, part: Interruptions) -> None:
        assert len(part) == len(ended)
        counts.append(len(ended))

    tracer: Any = MadeUpTracer(20)
    sample, _ = next(samples(tracer, 40 * SECOND_NS, on_tables=count))
    assert len(counts) > 1
    assert sum(counts) == sum(one.count for one in sample.interval.cpus[0].sources)
