from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from noisetop.summary.max_single import GAP_NS, HOLD_NS, LongestIntervals, NoiseInterval
from tests.recordings import START_NS, interruption, table

STEPS = st.tuples(st.integers(0, 3 * GAP_NS), st.integers(1, 5_000))


def naive(steps: list[tuple[int, int]]) -> list[NoiseInterval]:
    """The definition, one interruption at a time."""
    found: list[NoiseInterval] = []
    now = START_NS
    for gap, gross in steps:
        start, now = now + gap, now + gap + gross
        if found and gap < GAP_NS:
            last = found.pop()
            found.append(NoiseInterval(2, last.start_ns, now, last.noise_ns + gross))
        else:
            found.append(NoiseInterval(2, start, now, gross))
    return sorted(found, key=lambda one: (-one.noise_ns, one.start_ns))


def rows_of(steps: list[tuple[int, int]], cpu: int = 2) -> list[tuple[int, ...]]:
    rows, now = [], 0
    for gap, gross in steps:
        rows.append(interruption(now + gap, gross, cpu=cpu))
        now += gap + gross
    return rows


@given(st.lists(STEPS, max_size=40), st.integers(1, 5), st.lists(st.integers(0, 40), max_size=4))
def test_finds_the_longest_however_the_table_is_cut(
    steps: list[tuple[int, int]], keep: int, cuts: list[int]
) -> None:
    whole = table(*rows_of(steps))
    finder = LongestIntervals(keep)
    for part in np.split(whole, sorted(cuts)):
        finder.add(part)
        finder.worst()  # asking must not change the answer
    assert finder.worst() == naive(steps)[:keep]


@given(st.lists(STEPS, min_size=1, max_size=30), st.randoms(use_true_random=False))
def test_the_order_of_delivery_does_not_matter_within_the_hold_time(
    steps: list[tuple[int, int]], random: object
) -> None:
    rows = rows_of(steps)
    shuffled = list(rows)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    finder = LongestIntervals(3)
    for row in shuffled:
        finder.add(table(row))
    assert finder.worst() == naive(steps)[:3]


def test_what_is_older_than_the_hold_time_is_settled() -> None:
    finder = LongestIntervals(5)
    late = HOLD_NS + 10_000
    finder.add(table(interruption(0, 500), interruption(600, 300)))
    finder.add(table(interruption(late, 100)))
    assert [one.noise_ns for one in finder.worst()] == [800, 100]
    finder.add(table(interruption(late + 200, 900), interruption(3 * late, 1)))
    assert [one.noise_ns for one in finder.worst()] == [1_000, 800, 1]


def test_a_gap_of_the_limit_parts_and_a_shorter_one_joins() -> None:
    finder = LongestIntervals(2)
    finder.add(table(interruption(0, 10), interruption(10 + GAP_NS - 1, 10)))
    finder.add(table(interruption(19 + 2 * GAP_NS, 10)))
    worst = finder.worst()
    assert [one.noise_ns for one in worst] == [20, 10]
    assert worst[0].end_ns - worst[0].start_ns == 20 + GAP_NS - 1


def test_cpus_are_apart() -> None:
    finder = LongestIntervals(2)
    finder.add(table(interruption(0, 10, cpu=2), interruption(5, 30, cpu=3)))
    assert [(one.cpu, one.noise_ns) for one in finder.worst()] == [(3, 30), (2, 10)]
    longest = finder.longest_of(2)
    assert longest is not None
    assert longest.noise_ns == 10
    assert finder.longest_of(7) is None
