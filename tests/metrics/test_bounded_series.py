"""Whatever enters and leaves the top: nothing decreases, nothing is lost, nothing counts twice."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from noisetop.metrics.bounded_series import MOST, Amounts, BoundedSeries, Key

SECOND_NS = 1_000_000_000
OTHER: Key = ("other",)
PERIODS = st.lists(
    st.dictionaries(st.integers(0, 40), st.integers(0, 10**9), max_size=12), max_size=60
)


def other(_: Key) -> Key:
    return OTHER


def made(most: int = 3) -> BoundedSeries:
    return BoundedSeries(2, other, most)


def keyed(period: dict[int, int]) -> dict[Key, Amounts]:
    return {(f"source {key}",): (ns, 1) for key, ns in period.items()}


@given(PERIODS)
def test_no_counter_decreases_and_the_sum_is_all_that_was_added(
    periods: list[dict[int, int]],
) -> None:
    series = made()
    seen: dict[Key, Amounts] = {}
    added = [0, 0]
    for period in periods:
        series.add(keyed(period), SECOND_NS)
        added[0] += sum(period.values())
        added[1] += len(period)
        rows = dict(series.rows())
        assert len(rows) == len(series.rows()) <= 3 + 64 + 1
        for key, amounts in rows.items():
            assert all(
                now >= then for now, then in zip(amounts, seen.get(key, (0, 0)), strict=True)
            )
        seen |= rows
        told = [sum(some) for some in zip(*rows.values(), series.unlisted, strict=True)] or [0, 0]
        assert told == added


def test_the_increases_of_all_series_are_what_was_added() -> None:
    """Through every change of the top, by the values that scrapes saw of each series."""
    series, added, grown = made(), 0, 0
    last: dict[Key, int] = {}
    for turn in range(400):
        period = {turn // 3 + key: (key + 1) * 1000 * (1 + turn % 7) for key in range(8)}
        series.add(keyed(period), 60 * SECOND_NS)
        added += sum(period.values())
        for key, (ns, _) in series.rows():
            grown += ns - last.get(key, 0)
            last[key] = ns
    assert series.unlisted[0] > 0  # some have left the list as well
    assert grown == added


def test_what_is_largest_lately_has_a_series() -> None:
    series = made()
    old = keyed(dict.fromkeys(range(3), 10000000))
    for _ in range(1000):
        series.add(old, SECOND_NS)
    for _ in range(60):
        series.add({**old, ("new",): (800_000_000, 1)}, SECOND_NS)
    rows = dict(series.rows())
    assert rows["new",][0] > 0.9 * 60 * 800_000_000 - rows[OTHER][0]
    assert ("new",) in rows


def test_a_series_that_comes_back_goes_on() -> None:
    series = made(most=1)
    series.add({("a",): (1_000, 1)}, SECOND_NS)
    series.add({("b",): (5_000, 1)}, SECOND_NS)
    assert dict(series.rows()) == {("b",): (5_000, 1), ("a",): (1_000, 1)}
    series.add({("a",): (50_000, 1)}, SECOND_NS)
    assert dict(series.rows()) == {("a",): (51_000, 2), ("b",): (5_000, 1)}
    assert series.unlisted == (0, 0)


def test_others_are_counted() -> None:
    series = BoundedSeries(1, other)
    series.add({(f"s{n}",): (1_000 + n,) for n in range(10_000)}, SECOND_NS)
    assert len(series.rows()) == MOST + 1
    assert series.dropped == 1024 - MOST
    assert sum(ns for _, (ns,) in series.rows()) == sum(1_000 + n for n in range(10_000))
