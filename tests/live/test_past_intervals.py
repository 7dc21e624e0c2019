"""What a live view keeps to look at once more is bounded."""

from __future__ import annotations

from noisetop.live.past_intervals import PastIntervals
from tests.builders import cpu, source, summary


def test_the_oldest_go_by_number_and_by_size() -> None:
    past = PastIntervals()
    small = summary(cpu(1))
    for number in range(700):
        past.put(number, small)
    assert past.get(99) is None
    assert past.get(100) is small
    large = summary(cpu(1, *(source("irq", str(one)) for one in range(6_000))))
    past.put(700, large)
    assert past.get(699) is small
    past.put(701, large)
    assert (past.get(700), past.get(701)) == (None, large)
    past.clear()
    assert past.get(701) is None
