"""Totals that are counted on from stay exact, and bounded."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from noisetop.counters.calibration import NONE
from noisetop.events.interruption import OTHER, Flag, Interruptions, Source
from noisetop.events.trigger import Trigger
from noisetop.summary.fold import folded
from noisetop.summary.summarizer import Summarizer
from noisetop.summary.summary import Summary
from tests.recordings import (
    FAULTS,
    SOURCES,
    START_NS,
    TRIGGERS,
    fault,
    interruption,
    nested_tables,
    table,
)


def summary_of(summarizer: Summarizer) -> Summary:
    return summarizer.summary(START_NS, START_NS + 1_000_000)


def continued(
    old: Summarizer, sources: Sequence[Source], triggers: Sequence[Trigger], kept: int
) -> Summarizer:
    return folded(old, NONE, START_NS, kept).continued(sources, triggers)


def fresh() -> Summarizer:
    return Summarizer((2, 3), SOURCES, TRIGGERS)


@given(nested_tables(), nested_tables())
def test_where_all_are_kept_nothing_changes(first: Interruptions, second: Interruptions) -> None:
    whole, cut = fresh(), fresh()
    whole.add(first)
    cut.add(first)
    # Other lists, in another order.
    sources, triggers = list(reversed(SOURCES)), [TRIGGERS[0], *reversed(TRIGGERS[1:])]
    renumbered = second.copy()
    renumbered["source"] = [sources.index(SOURCES[number]) for number in second["source"]]
    renumbered["trigger"] = [triggers.index(TRIGGERS[number]) for number in second["trigger"]]
    cut = continued(cut, sources, triggers, len(SOURCES))
    whole.add(second)
    cut.add(renumbered)
    assert summary_of(cut) == summary_of(whole)


@given(nested_tables(), st.integers(0, len(SOURCES)))
def test_no_sum_depends_on_how_many_are_kept(rows: Interruptions, kept: int) -> None:
    whole = fresh()
    whole.add(rows)
    before = summary_of(whole)
    after = summary_of(continued(whole, SOURCES, TRIGGERS, kept))
    for one, other in zip(before.cpus, after.cpus, strict=True):
        assert (one.noise_ns, one.idle_ns, one.count) == (
            other.noise_ns,
            other.idle_ns,
            other.count,
        )
        assert one.by_class() == other.by_class()
        assert (one.max_single_ns, one.by_origin) == (other.max_single_ns, other.by_origin)
        named = [source for source in other.sources if source.source.path[1] != OTHER]
        assert len(named) <= kept * 2  # each with interruptions of victims and of idle CPUs


def test_names_without_end_become_one_in_bounded_memory() -> None:
    total = Summarizer((2,), [], [Trigger()])
    for turn in range(20):
        sources = [Source(("thread", "daemon"))]
        sources += [Source(("thread", f"s{turn}-{number}")) for number in range(50)]
        triggers = [Trigger(), *(Trigger(f"t{turn}-{number}", number) for number in range(50))]
        total = continued(total, sources, triggers, kept=40)
        rows = [interruption(turn * 1000 + n, 9, source=n, trigger=n) for n in range(51)]
        rows += [interruption(turn * 1000 + 900, 500, source=0)]
        total.add(table(*rows))
    [cpu] = summary_of(continued(total, [], [Trigger()], kept=40)).cpus
    found = {source.source.path[1]: source for source in cpu.sources}
    assert len(found) == 11
    assert found["daemon"].count == 40
    assert found[OTHER].count == 20 * 50 - 9
    assert cpu.noise_ns == 20 * (51 * 9 + 500)
    assert len(found[OTHER].triggers) <= 65


def test_what_is_no_noise_is_never_folded() -> None:
    whole = Summarizer((2,), FAULTS, TRIGGERS)
    rows = table(fault(0, 100, source=0), fault(200, 50, source=1))
    whole.add(rows)
    again = continued(whole, FAULTS, TRIGGERS, kept=0)
    again.add(rows)
    [cpu] = summary_of(again).cpus
    assert {one.source: one.count for one in cpu.side["fault"]} == {FAULTS[0]: 2, FAULTS[1]: 2}
    assert rows["flags"][0] & Flag.OUTERMOST == 0
