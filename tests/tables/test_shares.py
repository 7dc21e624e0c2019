"""What took the time of waits, against looking at each of them alone."""

from __future__ import annotations

from collections import Counter

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisetop._tables import shares

SWITCH_NS = 4
Column = npt.NDArray[np.uint64]


def columns(rows: list[tuple[int, int, int]]) -> tuple[Column, Column, Column]:
    one, two, three = np.array(rows, np.uint64).reshape(-1, 3).T
    return one, two, three


def segments(gaps: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Start, end and kind, from the pause before each, its length and its kind."""
    rows, now = [], 0
    for pause, length, kind in gaps:
        rows.append((now + pause, now + pause + length, kind))
        now += pause + length
    return rows


def slowly(
    waits: list[tuple[int, int, int]], ran: list[tuple[int, int, int]], competing: bytes
) -> tuple[dict[tuple[int, int], int], list[int]]:
    found: Counter[tuple[int, int]] = Counter()
    left = []
    for owner, start, end in waits:
        parts: Counter[int] = Counter()
        for begin, until, kind in ran:
            parts[kind] += max(min(until, end) - max(begin, start), 0)
        rest = max(end - start, 0) - parts.total()
        left.append(rest)
        rivals = [kind for kind in sorted(parts) if competing[kind] and parts[kind]]
        best = max(rivals, key=lambda kind: parts[kind], default=len(competing))
        parts[best if rest <= SWITCH_NS else len(competing)] += rest
        for kind, ns in parts.items():
            found[owner, kind] += ns
    return {key: ns for key, ns in found.items() if ns}, left


def quickly(
    waits: list[tuple[int, int, int]], ran: list[tuple[int, int, int]], competing: bytes
) -> tuple[dict[tuple[int, int], int], list[int]]:
    left = np.zeros(len(waits), np.uint64)
    found = shares(columns(waits), columns(ran), competing, SWITCH_NS, left)
    rows = np.frombuffer(found, np.uint64).reshape(-1, 3).tolist()
    assert len({(owner, kind) for owner, kind, _ in rows}) == len(rows)
    return {(owner, kind): ns for owner, kind, ns in rows}, left.tolist()


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 40), st.integers(0, 90)), max_size=12),
    st.lists(st.tuples(st.integers(0, 6), st.integers(1, 9), st.integers(0, 3)), max_size=30),
    st.binary(min_size=4, max_size=4),
)
def test_any_waits(
    waits: list[tuple[int, int, int]], gaps: list[tuple[int, int, int]], competing: bytes
) -> None:
    waits = [(owner, start, start + length) for owner, start, length in waits]
    ran = segments(gaps)
    assert quickly(waits, ran, competing) == slowly(waits, ran, competing)


@pytest.mark.parametrize("kinds", [1, 3, 90])
def test_waits_over_many_segments(kinds: int) -> None:
    random = np.random.default_rng(7)
    gaps = random.integers(1, 20, (1_000, 3))
    gaps[:, 2] = random.integers(0, kinds, len(gaps))
    ran = segments([tuple(row) for row in gaps.tolist()])
    starts = random.integers(0, 20_000, 60)
    waits = [(at % 5, start, start + at * 300) for at, start in enumerate(starts.tolist())]
    competing = bytes(random.integers(0, 2, kinds).tolist())
    assert quickly(waits, ran, competing) == slowly(waits, ran, competing)


def test_nothing_ran() -> None:
    assert quickly([(9, 10, 30)], [], b"") == ({(9, 0): 20}, [20])
    assert quickly([], segments([(0, 5, 0)]), b"\x01") == ({}, [])


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="known kind"):
        quickly([(0, 0, 1)], [(0, 1, 1)], b"\x01")
    with pytest.raises(ValueError, match="each wait"):
        shares(columns([(0, 0, 1)]), columns([]), b"", SWITCH_NS, np.zeros(2, np.uint64))
