"""Pieces in one block of memory are whole, and the oldest go first."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from noisetop.live.byte_ring import ByteRing

SIZE = 40


def piece(number: int, length: int) -> bytes:
    return bytes([number % 256]) * length


@given(st.lists(st.integers(1, SIZE), max_size=60))
def test_what_is_kept_is_the_newest_and_whole(lengths: list[int]) -> None:
    ring = ByteRing(SIZE)
    for number, length in enumerate(lengths):
        ring.put(number, piece(number, length))
        first = ring.first
        assert first <= number
        assert len(ring) == number + 1 - first
        for one in range(number + 1):
            expected = piece(one, lengths[one]) if one >= first else None
            assert ring.get(one) == expected
        assert sum(lengths[first : number + 1]) <= SIZE


@given(st.lists(st.integers(1, SIZE // 4), min_size=1, max_size=60))
def test_half_of_the_memory_is_in_use_at_least(lengths: list[int]) -> None:
    ring = ByteRing(SIZE)
    for number, length in enumerate(lengths):
        ring.put(number, piece(number, length))
    kept = sum(lengths[ring.first :])
    assert kept >= min(SIZE // 2, sum(lengths))


def test_one_that_is_too_large_is_not_kept() -> None:
    ring = ByteRing(SIZE)
    ring.put(0, b"small")
    ring.put(1, bytes(SIZE + 1))
    assert (ring.get(0), ring.get(1), ring.first) == (None, None, -1)
    ring.put(2, b"small")
    assert ring.get(2) == b"small"


def test_the_oldest_is_dropped_on_demand_and_all_are() -> None:
    ring = ByteRing(SIZE)
    for number in range(3):
        ring.put(number, b"ten bytes.")
    ring.drop_oldest()
    assert (ring.get(0), ring.first, len(ring)) == (None, 1, 2)
    ring.clear()
    assert (ring.first, len(ring)) == (-1, 0)
