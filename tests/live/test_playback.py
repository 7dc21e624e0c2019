"""A recording played back: its periods are those of the live view, and together they are it."""

from __future__ import annotations

from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisetop.events.interruption import Interruptions
from noisetop.events.layout import Events
from noisetop.events.task_names import TaskInfo
from noisetop.events.victim_time import ANY_TASK
from noisetop.live.period_split import PeriodSplitter
from noisetop.live.periods import Periods
from noisetop.live.playback import Playback
from noisetop.recording.open import open_recording
from noisetop.recording.recording import Recording
from noisetop.summary.recorded import summary_of
from noisetop.summary.summary import Summary
from noisetop.tables.rows import joined
from tests.live.made_up_tracer import CPU, DAEMON, SECOND_NS, MadeUpTracer, named, ran, samples
from tests.recordings import (
    DATA,
    START_NS,
    interruption,
    nested_tables,
    recording,
    table,
    write_spool,
)

_SECONDS = 4
_DURATION_NS = 1_000_000_000


def played(recorded: Recording, *cuts_ns: int) -> Playback:
    bounds = (recorded.start_ns, *sorted(cuts_ns), recorded.end_ns)
    playback = Playback(recorded, Periods(bounds))
    playback.load()
    while playback.accounted < len(playback.periods):
        playback.account_next()
    return playback


def by_source(*summaries: Summary) -> dict[tuple[object, ...], list[int]]:
    """Net time, idle time and entries by CPU, source and origin."""
    found: dict[tuple[object, ...], list[int]] = {}
    for cpu in (cpu for one in summaries for cpu in one.cpus):
        for one in cpu.sources:
            sums = found.setdefault((cpu.cpu, one.source, one.origin), [0, 0, 0])
            for place, value in enumerate((one.net_ns, one.idle_ns, one.entries)):
                sums[place] += value
    return found


@given(nested_tables(), st.lists(st.integers(1, 400_000), min_size=1, max_size=4, unique=True))
def test_the_periods_add_up_to_the_recording(rows: Interruptions, cuts: list[int]) -> None:
    whole = recording(rows)
    playback = played(whole, *(START_NS + cut for cut in cuts))
    spans = [playback.span(at, at + 1) for at in range(len(playback.periods))]
    assert by_source(*spans) == by_source(summary_of(whole))
    assert sum(one.duration_ns for one in spans) == whole.duration_ns
    assert playback.total(len(playback.periods)) == summary_of(whole)


@given(nested_tables(), st.lists(st.integers(1, 400_000), min_size=3, max_size=5, unique=True))
def test_a_range_is_the_sum_of_its_periods(rows: Interruptions, cuts: list[int]) -> None:
    playback = played(recording(rows), *(START_NS + cut for cut in cuts))
    parts = [playback.span(at, at + 1) for at in (1, 2)]
    assert by_source(playback.span(1, 3)) == by_source(*parts)


@given(nested_tables(), st.integers(1, 300_000))
def test_what_goes_on_is_cut_where_it_was(rows: Interruptions, cut: int) -> None:
    """Nested interruptions that had ended by then are taken out, later ones are not."""
    playback = played(recording(rows), START_NS + cut)
    for row in playback._index.going_on(START_NS + cut):
        assert row["start_ns"] + row["gross_ns"] == START_NS + cut
        assert row["net_ns"] <= row["gross_ns"]


@pytest.mark.parametrize("name", ["noisy", "quiet", "unloaded"])
@pytest.mark.parametrize("count", [1, 7])
def test_a_real_recording_adds_up(name: str, count: int) -> None:
    whole = open_recording(DATA / f"{name}.noisetop")
    step_ns = whole.duration_ns // count
    playback = played(whole, *(whole.start_ns + step_ns * at for at in range(1, count)))
    spans = [playback.span(at, at + 1) for at in range(count)]
    assert by_source(*spans) == by_source(summary_of(whole))
    assert playback.total(count) == summary_of(open_recording(DATA / f"{name}.noisetop"))


class Spanning(MadeUpTracer):
    """Beside the short tasks a daemon that runs over the end of every second."""

    def __init__(self) -> None:
        super().__init__(5)
        self.given: list[Events] = []

    def _long(self, second: int, until_ns: int) -> Events:
        begin_ns = START_NS + second * SECOND_NS + 900_000_000
        row = ran([DAEMON + 1], ["long"], [begin_ns])
        row["gross_ns"] = row["net_ns"] = until_ns - begin_ns
        return row

    def records(self) -> Events:
        second, now = self.second, super().records()
        told = named([DAEMON + 1], ["long"], [START_NS])
        if second:
            end_ns = START_NS + second * SECOND_NS + 30_000
            told = joined([told, self._long(second - 1, end_ns)])
        self.given.append(joined([told, now]))
        return self.given[-1]

    def settle(self) -> tuple[int, Interruptions, Interruptions]:
        opened = self._long(self.second - 1, self.complete_ns)
        return self.complete_ns, *self.reader.settle(opened, opened[:0], self.complete_ns)


def test_every_period_is_what_the_live_view_showed(tmp_path: Path) -> None:
    tracer: Any = Spanning()
    live = [sample for sample, _ in islice(samples(tracer), _SECONDS)]
    path = tmp_path / "run.noisetop"
    # What went on at the end of the last second is recorded as it was then.
    last = tracer._long(_SECONDS - 1, START_NS + _SECONDS * SECOND_NS)
    write_spool(path, [*tracer.given, last], end_ns=START_NS + _SECONDS * SECOND_NS)
    recorded = open_recording(path)
    recorded.metadata["victims"], recorded.cpus = ANY_TASK, (CPU,)
    playback = played(recorded, *(START_NS + n * SECOND_NS for n in range(1, _SECONDS)))
    for number, sample in enumerate(live[:-1]):
        told = playback.span(number, number + 1)
        assert_same(told, sample.interval)
        assert_same(playback.total(number + 1), sample.total)
    assert any(one.time.contention for one in live[1].interval.victims)


def assert_same(one: Summary, other: Summary) -> None:
    assert (one.start_ns, one.end_ns) == (other.start_ns, other.end_ns)
    for ours, theirs in zip(one.cpus, other.cpus, strict=True):
        assert ours == theirs
        for mine, its in zip(ours.sources, theirs.sources, strict=True):
            assert np.array_equal(mine.histogram, its.histogram)
    assert one.waits == other.waits
    assert one.victims == other.victims
    assert one.short_lived == other.short_lived
    assert one.cpu_victims == other.cpu_victims


def test_figures_since_the_start_do_not_depend_on_the_way_there() -> None:
    whole = open_recording(DATA / "noisy.noisetop")
    step_ns = whole.duration_ns // 5
    playback = played(whole, *(whole.start_ns + step_ns * at for at in range(1, 5)))
    forwards = [playback.total(until) for until in range(1, 6)]
    backwards = [playback.total(until) for until in range(5, 0, -1)]
    assert forwards == backwards[::-1]


def test_parts_of_a_thread_that_goes_on_are_cut_as_in_the_live_view() -> None:
    """The splitter of the live view, given what went on at each end, makes the same parts."""
    whole = open_recording(DATA / "noisy.noisetop")
    step_ns = whole.duration_ns // 30
    cuts = [whole.start_ns + step_ns * at for at in range(1, 30)]
    playback, splitter = played(whole, *cuts), PeriodSplitter()
    bounds = playback.periods.bounds_ns
    for number, (start_ns, end_ns) in enumerate(pairwise(bounds)):
        ended = joined(
            [np.empty(0, playback.tables(0, 1)[0].dtype), *playback._tables(number, number + 1)]
        )
        still = playback._index.going_on(end_ns)
        expected = splitter.split(ended, still, end_ns)
        assert int(joined(playback.tables(number, number + 1))["net_ns"].sum()) == int(
            expected["net_ns"].sum()
        )
        assert start_ns < end_ns


def test_moments_are_the_longest_intervals() -> None:
    whole = open_recording(DATA / "noisy.noisetop")
    playback = played(whole)
    assert list(playback.worst) == []
    playback.find_worst()
    lengths = [one.interval.noise_ns for one in playback.worst]
    assert lengths == sorted(lengths, reverse=True)
    longest = max(cpu.max_single_ns for cpu in playback.total(1).cpus)
    assert lengths[0] == longest
    number = playback.periods.of_end(playback.worst[0].interval.end_ns)
    assert number == 0


def test_moments_are_without_contention_however_much_there_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """CPU 2 belongs to nobody: a hundred long turns of a program, and an interrupt."""
    turns = [interruption(at * 1_000_000, 500_000, source=4, tid=200) for at in range(150)]
    rows = table(*turns, interruption(900_000_000, 2_000, source=2))
    infos = {200: TaskInfo(200, 1, kernel=False, cgroup=0)}
    playback = played(recording(rows, infos=infos))
    playback.find_worst()
    assert playback.worst[0].interval.noise_ns == 500_000
    monkeypatch.setattr(Playback, "cpu_victims", lambda self, until: {2: None, 3: None})
    playback.find_worst()
    assert [one.interval.noise_ns for one in playback.worst] == [2_000]
