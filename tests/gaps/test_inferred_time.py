"""Hypervisor or firmware time is inferred only where nothing else can be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from noisetop.gaps.accounted_time import AccountedTime, Waits
from noisetop.gaps.explain import explain
from noisetop.gaps.inferred_time import InferredTime, InterruptCoverage, infer_time
from tests.gaps.test_explain import (
    SOURCES,
    START_NS,
    THREAD,
    TIMER,
    Stream,
    alone,
    events_of,
    gaps_of,
    streams,
)

ALL_COUNTED = InterruptCoverage(0, 1 << 62, counted=10, traced=10)


def infer(
    spans: list[tuple[int, int]],
    rows: list[tuple[int, int, int, int]] | None = None,
    counted: InterruptCoverage | None = ALL_COUNTED,
    accounted: Sequence[AccountedTime] = (),
    waits: Waits = (),
) -> InferredTime:
    told = explain(gaps_of(*spans), events_of(*rows or []), SOURCES, accounted, waits)
    return infer_time(told, counted)


def test_a_gap_without_an_event_is_not_this_kernel() -> None:
    found = infer([(0, 900), (5_000, 25_000)])
    assert found.irregular_ns.tolist() == [0, 20_000]
    assert found.regular is None


def test_without_a_count_nothing_is_inferred() -> None:
    assert infer([(0, 20_000)], counted=None).total_ns.tolist() == [0]


def test_each_missing_interrupt_keeps_the_longest_unexplained() -> None:
    spans = [(0, 20_000), (50_000, 90_000), (100_000, 105_000)]
    one_missing = replace(ALL_COUNTED, counted=11)
    assert infer(spans, counted=one_missing).total_ns.tolist() == [20_000, 0, 5_000]
    lost = replace(one_missing, lost_events=1)
    assert infer(spans, counted=lost).total_ns.tolist() == [0, 0, 5_000]


def test_nothing_is_inferred_beyond_the_period_that_was_counted() -> None:
    short = InterruptCoverage(START_NS + 10, START_NS + 100_000, 10, 10)
    spans = [(0, 20_000), (50_000, 90_000), (99_000, 105_000)]
    assert infer(spans, counted=short).total_ns.tolist() == [0, 40_000, 0]


def test_what_delays_an_interrupt_counts_beyond_its_cost() -> None:
    spans, rows = alone(6, 400)
    spans.append((900_000, 951_200))
    rows.append((TIMER, 950_000, 951_000, 1_000))
    found = infer(spans, rows)
    assert found.before_ns.tolist() == [0] * 6 + [50_000 - 400]
    assert found.irregular_ns.sum() == 0


def test_what_follows_an_event_may_be_this_kernel() -> None:
    assert infer([(0, 50_000)], [(TIMER, 100, 1_100, 1_000)]).total_ns.tolist() == [0]


def test_where_somebody_else_has_a_part_nothing_is_inferred() -> None:
    gap = (0, 50_000)
    waits = [(START_NS - 1, 0), (START_NS + 60_000, 1_000)]
    steal = AccountedTime("steal", START_NS, START_NS + 60_000, 2_000)
    assert infer([gap]).total_ns.tolist() == [50_000]
    assert infer([gap], [(THREAD, 10_000, 60_000, 50_000)]).total_ns.tolist() == [0]
    assert infer([gap], waits=waits).total_ns.tolist() == [0]
    assert infer([gap], accounted=[steal]).total_ns.tolist() == [0]


def test_the_beat_is_told_apart_from_the_rest() -> None:
    rng = np.random.default_rng(1)
    beat = [(i * 10_000_000, i * 10_000_000 + 20_000) for i in range(200)]
    others = [(int(at), int(at) + 3_000) for at in rng.integers(50_000, 2_000_000_000, 40)]
    spans = sorted(beat + [o for o in others if 50_000 < o[0] % 10_000_000 < 9_900_000])
    found = infer(spans)
    assert found.regular
    assert found.regular.period_ns == pytest.approx(10_000_000, rel=0.001)
    assert (found.regular_ns > 0).sum() == pytest.approx(200, abs=8)
    assert found.total_ns.sum() == sum(b - a for a, b in spans)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(streams(), st.integers(0, 5))
def test_it_is_always_a_part_of_the_unexplained(stream: Stream, missing: int) -> None:
    told = explain(stream.gaps, stream.events, SOURCES, stream.accounted, stream.waits)
    found = infer_time(told, replace(ALL_COUNTED, counted=10 + missing))
    assert (found.total_ns >= 0).all()
    assert (found.total_ns <= told.unexplained_ns - told.unreported_ns).all()
    kinds = [found.regular_ns > 0, found.irregular_ns > 0, found.before_ns > 0]
    assert (np.sum(kinds, axis=0) <= 1).all()
    assert not (found.irregular_ns > 0)[told.event_ns > 0].any()
