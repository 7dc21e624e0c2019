"""What a live view keeps to look at once more is bounded, and whole."""

from __future__ import annotations

import numpy as np

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
    large = summary(cpu(1, *(source("irq", str(one)) for one in range(6_000))))
    past.put(700, large)
    assert past.get(699) == small
    past.put(701, large)
    assert (past.get(700), past.get(701)) == (None, large)
    past.clear()
    assert past.get(701) is None


def test_minutes_of_a_usual_machine_are_kept() -> None:
    past = PastIntervals()
    sources = [source("irq", str(one), durations_ns=range(500, 9_000, 100)) for one in range(15)]
    usual = summary(*(cpu(number, *sources) for number in range(16)))
    for number in range(300):
        past.put(number, usual)
    assert 299 - past.first >= 120


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
