"""What is found in records as they come, and what of it is external noise in the end."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from noisetop.events.interruption import Flag
from noisetop.events.records import split_in_blocks
from noisetop.events.task_directory import Details
from noisetop.flight_recorder.closed_intervals import IntervalFinder
from noisetop.flight_recorder.detectors import (
    GapDetector,
    SeenGap,
    SingleDetector,
    TotalDetector,
)
from noisetop.flight_recorder.judge import Judge
from noisetop.flight_recorder.snapshot_files import written
from noisetop.flight_recorder.window import Chunk
from noisetop.recording.moment import GAP, SINGLE, TOTAL
from tests.flight_recorder.made_up import SECOND, VICTIM, taken
from tests.recordings import FLAGS, START_NS, events, layout, names

MS = 1_000_000
IRQ = {"source": "irq", "id": 36, "comm": b"virtio1", "cpu": 2, "level": layout().levels["IRQ"]}


def interrupt(at_ns: int, gross_ns: int) -> dict[str, object]:
    return {
        **IRQ, "start_ns": START_NS + at_ns, "gross_ns": gross_ns, "net_ns": gross_ns,
        "victim_tid": VICTIM, "tid": VICTIM, "flags": Flag.OUTERMOST,
    }  # fmt: skip


def wait(at_ns: int, gross_ns: int) -> dict[str, object]:
    preempted = list(layout().wait_reasons).index("preempted")
    return {
        "source": "thread", "start_ns": START_NS + at_ns, "gross_ns": gross_ns, "tid": VICTIM,
        "cpu": 2, "level": preempted, "flags": FLAGS["WAIT"],
    }  # fmt: skip


def chunk(until_ns: int, *rows: dict[str, object]) -> Chunk:
    until_ns += START_NS
    return Chunk(split_in_blocks(layout(), events(*rows)), until_ns, until_ns, {})


def judge() -> Judge:
    return Judge(layout(), names(), Details(), 0)


def test_a_wait_that_nothing_accounts_for_is_a_moment() -> None:
    one = chunk(SECOND, interrupt(10 * MS, 30_000), wait(100 * MS, 3 * MS))
    intervals = IntervalFinder(layout()).add(one.records.events, one.until_ns)
    detector = SingleDetector(layout(), lambda: MS)
    [moment] = detector.add(one, intervals)
    assert (moment.kind, moment.cpu, moment.size_ns) == (SINGLE, 2, 3 * MS)
    found = judge().longest(2, moment.start_ns, moment.end_ns, one.records, MS)
    assert found is not None
    assert (found.start_ns, found.noise_ns) == (START_NS + 100 * MS, 3 * MS)


def test_a_wait_in_which_something_ran_is_no_second_moment() -> None:
    """All of it but the switches: what ran is the noise, once."""
    ran = interrupt(100 * MS + 5_000, 3 * MS - 10_000)
    one = chunk(SECOND, ran, wait(100 * MS, 3 * MS))
    found = judge().longest(2, START_NS, START_NS + SECOND, one.records, MS)
    assert found is not None
    assert found.noise_ns == 3 * MS - 10_000


def test_a_wait_waits_for_what_ran_in_it() -> None:
    early = chunk(102 * MS, wait(100 * MS, 3 * MS))
    detector, finder = SingleDetector(layout(), lambda: MS), IntervalFinder(layout())
    assert not list(detector.add(early, finder.add(early.records.events, early.until_ns)))
    late = chunk(SECOND)
    assert len(list(detector.add(late, finder.add(late.records.events, late.until_ns)))) == 1


def test_the_worst_short_period_is_found_among_many() -> None:
    """Interruptions of 40 µs: 30 in one period of 10 ms, and one in each of the others."""
    sparse = [interrupt(number * 10 * MS, 40_000) for number in range(50)]
    burst = [interrupt(200 * MS + number * 300_000, 40_000) for number in range(1, 31)]
    one = chunk(SECOND, *sparse, *burst)
    intervals = IntervalFinder(layout()).add(one.records.events, one.until_ns)
    detector = TotalDetector(lambda: 1_000, START_NS, period_ns=10 * MS)
    [moment] = detector.add(one, intervals)
    assert (moment.kind, moment.size_ns) == (TOTAL, 31 * 40_000)
    totals = judge().totals(
        2, moment.start_ns, moment.end_ns, one.records, least_ns=0, period_ns=10 * MS
    )
    assert len(totals) == 50
    assert max(totals, key=lambda start_ns: totals[start_ns]) == START_NS + 200 * MS
    assert sum(totals.values()) == 80 * 40_000


def test_many_entries_cost_more_than_one_long_interruption() -> None:
    """A hundred of 300 ns in one period, one of 500 µs in another one; an entry costs 6 µs."""
    mark = layout().entry_mark | layout().levels["IRQ"]
    long = interrupt(100 * MS, 500_000) | {"level": mark}
    burst = [
        interrupt(500 * MS + number * 50_000, 300) | {"level": mark} for number in range(1, 101)
    ]
    one = chunk(SECOND, long, *burst)
    intervals = IntervalFinder(layout(), nested=True).add(one.records.events, one.until_ns)
    detector = TotalDetector(lambda: 1_000, START_NS, period_ns=10 * MS, per_entry_ns=6_000)
    [moment] = detector.add(one, intervals)
    assert moment.size_ns == 100 * 6_300
    place = 2, moment.start_ns, moment.end_ns, one.records
    totals = judge().totals(*place, least_ns=0, period_ns=10 * MS, per_entry_ns=6_000)
    assert totals == {START_NS + 100 * MS: 506_000, START_NS + 500 * MS: 630_000}


def test_an_interval_belongs_to_the_period_in_which_it_began() -> None:
    one = chunk(SECOND, interrupt(9 * MS, 3 * MS))
    start_ns, end_ns = START_NS, START_NS + 10 * MS - 1
    totals = judge().totals(2, start_ns, end_ns, one.records, least_ns=0, period_ns=10 * MS)
    assert totals == {START_NS: 3 * MS}


def test_each_gap_of_a_probe_is_a_moment() -> None:
    gap = SeenGap(3, START_NS, START_NS + 2 * MS)
    [moment] = GapDetector(lambda: [gap], MS).add(
        chunk(SECOND), IntervalFinder(layout()).add([], 0)
    )
    assert (moment.kind, moment.cpu, moment.size_ns, moment.threshold_ns) == (GAP, 3, 2 * MS, MS)
    assert moment.start_ns < gap.start_ns < gap.end_ns < moment.end_ns


def test_the_file_of_such_a_wait_tells_it_as_unattributed(tmp_path: Path) -> None:
    one = taken(1, 3 * MS)
    row = wait(SECOND, 3 * MS)
    one = replace(one, snapshot=replace(one.snapshot, pieces=(events(row),)))
    with written(one, tmp_path) as file:
        figures = file.analysis.figures
    assert figures is not None
    assert (figures.net_ns, figures.source) == (3 * MS, ("thread", "unattributed"))
