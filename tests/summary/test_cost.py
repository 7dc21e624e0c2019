"""Costs: entries on top of net time, never more than there was time, and once each."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from noisetop.counters.calibration import MEASURED, Calibration, EntryCost
from noisetop.diagnosis.evidence import collect
from noisetop.events.interruption import FAULT, Flag, Source
from noisetop.summary.as_dict import summary_as_dict
from noisetop.summary.cost import Entries, entry_kind, fitting
from noisetop.summary.recorded import summary_of
from noisetop.summary.summary import Summary
from tests.builders import side_figures
from tests.recordings import (
    FAULTS,
    SOURCES,
    fault,
    interruption,
    recording,
    table,
)

TIMER = EntryCost(5_000, 4_000, 7_000, MEASURED, cold_more_ns=600)
COSTS = Calibration({"timer": TIMER, "fault": EntryCost(300, 200, 400, MEASURED)})
CARRIES = int(Flag.ENTRY)


def timers(count: int, duration_ns: int) -> Summary:
    """So many timers of 100 ns on two CPUs each, and two faults of which one slept."""
    rows = [
        interruption(at * 200, 100, cpu=cpu, flags=CARRIES, origin=4)
        for cpu in (2, 3)
        for at in range(count)
    ]
    rows += [fault(10, 50, source=6), fault(20, 60, source=6), fault(20, 900, source=7)]
    return summary_of(
        recording(
            table(*rows),
            sources=[*SOURCES, *FAULTS],
            duration_ns=duration_ns,
            counters=side_figures(calibration=COSTS),
        )
    )


def test_a_cost_that_fits_is_not_cut() -> None:
    for cpu in timers(10, 1_000_000).cpus:
        assert (cpu.cost_ns, cpu.is_cut) == (10 * 5_100, False)
        assert cpu.external_cost_range_ns == (10 * 4_100, 10 * 7_100)


def test_a_cold_entry_costs_more() -> None:
    marks = [CARRIES | int(Flag.COLD), CARRIES, CARRIES, 0]
    rows = [interruption(at * 200, 100, flags=marked) for at, marked in enumerate(marks)]
    made = recording(table(*rows), counters=side_figures(calibration=COSTS))
    (cpu, *_) = summary_of(made).cpus
    assert cpu.cost_ns == 4 * 100 + 3 * 5_000 + 600
    assert cpu.external_cost_range_ns == (400 + 3 * 4_000 + 600, 400 + 3 * 7_000 + 600)
    (source,) = cpu.sources
    assert (source.entries, source.cold) == (3, 1)
    assert [one.cost_ns for one in source.triggers] == [source.cost_ns]
    (share,) = collect(made).shares(COSTS)
    assert (share.rank_ns, share.entries, share.cold) == (cpu.cost_ns, 3, 1)


def test_no_cpu_costs_more_than_its_wall_time() -> None:
    found = timers(10, 40_000)
    for cpu in (*found.cpus, found.all_cpus()):
        wall_ns = 40_000 * (1 if cpu.cpu is not None else 2)
        assert cpu.cost_ns is not None
        assert 0.99 * wall_ns <= cpu.cost_ns <= wall_ns
        low, high = cpu.external_cost_range_ns or (0, 0)
        assert low <= cpu.cost_ns <= high <= wall_ns
        assert cpu.is_cut
        (source,) = cpu.sources
        assert sum(one.cost_ns or 0 for one in source.triggers) == source.cost_ns
    assert summary_as_dict(found)["cpus"]["2"]["cost_cut"] is True  # type: ignore[index]


def test_a_range_that_exceeds_the_wall_time_ends_there() -> None:
    (cpu, _) = timers(10, 60_000).cpus
    assert cpu.external_cost_range_ns == (10 * 4_100, 60_000)
    assert (cpu.cost_ns, cpu.is_cut) == (10 * 5_100, False)


def test_the_causes_cost_no_more_either() -> None:
    rows = [interruption(at * 200, 100, flags=CARRIES) for at in range(10)]
    collected = collect(recording(table(*rows), duration_ns=40_000))
    assert sum(one.rank_ns for one in collected.shares(COSTS)) == 10 * 5_100
    assert sum(one.rank_ns for one in collected.shares(COSTS, 40_000)) <= 40_000


def test_a_fault_that_sleeps_has_one_entry() -> None:
    assert [entry_kind(source) for source in FAULTS] == ["fault", ""]
    ran, asleep = sorted(timers(1, 10**9).cpus[0].side[FAULT], key=lambda one: one.source.path)
    assert (ran.count, ran.cost_ns) == (2, 110 + 2 * 300)
    assert (asleep.count, asleep.cost_ns) == (1, None)


def test_kinds_that_were_not_measured_are_listed() -> None:
    told = json.loads(json.dumps(summary_as_dict(timers(1, 10**9))))["calibration"]
    assert told["timer"] == {
        "entry_ns": 5_000,
        "cold_entry_ns": 5_600,
        "spread_ns": [4_000, 7_000],
        "source": "measured",
    }
    assert told["switch"] == {
        "entry_ns": None,
        "cold_entry_ns": None,
        "spread_ns": None,
        "source": "not measured",
    }
    assert {"softirq", "switch", "fault"} <= told.keys()


@st.composite
def rows_of_entries(draw: st.DrawFn) -> list[Entries]:
    numbers = st.integers(0, 10_000)
    rows = []
    for _ in range(draw(st.integers(0, 8))):
        low_ns, entry_ns, high_ns = sorted(draw(st.tuples(numbers, numbers, numbers)))
        entry = EntryCost(entry_ns, low_ns, high_ns, MEASURED, draw(numbers))
        count = draw(st.integers(0, 50))
        rows.append(
            Entries(
                cpu=draw(st.integers(0, 1)),
                net_ns=draw(st.integers(0, 1_000)),
                entries=count,
                cold=draw(st.integers(0, count)),
                entry=draw(st.sampled_from((entry, None))),
            )
        )
    return rows


@given(rows_of_entries(), st.integers(1, 100_000))
def test_entries_fit_into_what_net_time_leaves(rows: list[Entries], wall_ns: int) -> None:
    fitted = fitting(rows, wall_ns)
    for cpu in (0, 1):
        mine = [(row, entry) for row, entry in zip(rows, fitted, strict=True) if row.cpu == cpu]
        net_ns = sum(row.net_ns for row, _ in mine)
        for name in ("low_ns", "entry_ns", "high_ns"):
            cost_ns = sum(
                row.entries * getattr(entry, name) + row.cold * entry.cold_more_ns
                for row, entry in mine
                if entry
            )
            assert net_ns + cost_ns <= max(wall_ns, net_ns)
    for row, entry in zip(rows, fitted, strict=True):
        assert (entry is None) is (row.entry is None)
        assert entry is None or entry.low_ns <= entry.entry_ns <= entry.high_ns


def test_a_source_is_known_by_its_class() -> None:
    assert entry_kind(Source(("ipi", "reschedule"))) == "reschedule"
    assert entry_kind(Source(("ipi", "call_function_single", "flush_tlb_func"))) == "call_function"
