"""What a live view keeps to look at once more is bounded, and whole."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from noisetop.events.task_directory import TaskDirectory
from noisetop.live.packed_summary import packed
from noisetop.live.past_intervals import PastIntervals
from noisetop.summary.recorded import summary_of
from tests.builders import cpu, source, summary
from tests.recordings import everything


def test_the_oldest_go_by_number_and_by_size() -> None:
    past = PastIntervals()
    assert past.first == -1
    small = summary(cpu(1))
    for number in range(700):
        past.put(number, small)
    assert past.get(99) is None
    assert past.get(100) == small
    assert past.first == 100
    past.clear()
    assert past.get(100) is None


def test_the_oldest_go_by_size() -> None:
    large = summary(cpu(1, *(source("irq", str(one)) for one in range(600))))
    past = PastIntervals(most_bytes=5 * len(packed(large)) // 2)
    for number in range(4):
        past.put(number, large)
    assert [past.get(number) == large for number in range(4)] == [False, False, True, True]


def test_the_directory_is_that_of_the_trace() -> None:
    past = PastIntervals()
    directory = TaskDirectory({1: "early"})
    past.put(0, replace(summary(cpu(1)), directory=directory))
    past.put(1, replace(summary(cpu(1)), directory=directory))
    directory.names = {1: "early", 2: "late"}
    found = past.get(0)
    assert found is not None
    assert found.directory is directory


def test_minutes_of_a_usual_machine_are_kept() -> None:
    past = PastIntervals()
    sources = [source("irq", str(one), durations_ns=range(500, 9_000, 100)) for one in range(15)]
    usual = summary(*(cpu(number, *sources) for number in range(16)))
    for number in range(300):
        past.put(number, usual)
    assert past.first == 0


def test_nothing_is_lost_by_packing() -> None:
    past = PastIntervals()
    whole = summary_of(everything())
    past.put(0, whole)
    found = past.get(0)
    assert found == whole
    assert found is not None
    for one, other in zip(found.cpus, whole.cpus, strict=True):
        pairs = list(zip(one.sources, other.sources, strict=True))
        for name in other.side:
            pairs += zip(one.side[name], other.side[name], strict=True)
        assert pairs
        for a, b in pairs:
            assert np.array_equal(a.histogram, b.histogram)
            assert a.percentile_ns(0.99) == b.percentile_ns(0.99)
