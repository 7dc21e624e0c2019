"""A feed that begins with its first sample."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from noisetop.errors import NoisetopError
from noisetop.live.sample import Feed, Sample
from noisetop.live.starting_feed import StartingFeed
from noisetop.machine.topology import CpuPlace
from noisetop.summary.summary import Summary
from noisetop.tracing.stopper import Stopper


class Told(Feed):
    """Notes what it is told."""

    def __init__(self) -> None:
        self.title = "CPU 1"
        self.interval_ns = 1
        self.places: Mapping[int, CpuPlace] = {}
        self.told: list[tuple[str, bool]] = []

    @property
    def interrupted(self) -> bool:
        return False

    def next(self) -> Sample:
        return Sample(Summary(0, 1, ()), Summary(0, 1, ()))

    def reset(self) -> None:
        self.told.append(("reset", True))

    def diagnose(self, *, wanted: bool) -> None:
        self.told.append(("diagnose", wanted))

    def want_moments(self, *, wanted: bool) -> None:
        self.told.append(("moments", wanted))

    def wake(self) -> None:
        self.told.append(("wake", True))


def test_it_begins_once_and_with_the_first_sample() -> None:
    begun: list[Told] = []

    def begin() -> Told:
        begun.append(Told())
        return begun[-1]

    feed = StartingFeed(begin, Stopper(), "CPU 1", 1_000)
    assert (feed.title, feed.interval_ns, begun) == ("CPU 1", 1_000, [])
    feed.next()
    feed.next()
    assert len(begun) == 1
    assert begun[0].interval_ns == 1_000


def test_what_was_asked_for_before_is_told_then() -> None:
    inner = Told()
    feed = StartingFeed(lambda: inner, Stopper(), "CPU 1", 1_000)
    feed.reset()  # there is nothing to reset
    feed.diagnose(wanted=True)
    feed.want_moments(wanted=True)
    feed.wake()
    feed.interval_ns = 2_000
    assert inner.told == []
    feed.start()
    assert inner.told == [("diagnose", True), ("moments", True), ("wake", True)]
    assert inner.interval_ns == 2_000


def test_later_on_it_is_told_at_once() -> None:
    inner = Told()
    feed = StartingFeed(lambda: inner, Stopper(), "CPU 1", 1_000)
    feed.start()
    inner.told.clear()
    feed.reset()
    feed.diagnose(wanted=True)
    feed.want_moments(wanted=False)
    feed.wake()
    feed.interval_ns = 3_000
    assert [name for name, _ in inner.told] == ["reset", "diagnose", "moments", "wake"]
    assert (inner.interval_ns, feed.interval_ns) == (3_000, 3_000)


def test_a_start_that_fails_is_told_by_the_first_sample() -> None:
    def begin() -> Told:
        raise NoisetopError("no BTF")

    feed = StartingFeed(begin, Stopper(), "CPU 1", 1_000)
    with pytest.raises(NoisetopError, match="no BTF"):
        feed.next()


def test_a_signal_while_it_starts() -> None:
    stopper = Stopper()
    feed = StartingFeed(Told, stopper, "CPU 1", 1_000)
    assert not feed.interrupted
    stopper.interrupted = True
    assert feed.interrupted
