"""What a run of a program takes, from made-up statistics."""

from __future__ import annotations

import pytest

from noisetop.probe.program_costs import Slice, costs_of, settled

MS = 1_000_000
NOTHING = Slice(MS, {"a": (0, 0)})
PROGRAMS = ("a",)


def loaded(*each_ns: int, runs: int = 50) -> list[Slice]:
    return [Slice(MS, {"a": (runs, runs * ns)}) for ns in each_ns]


def test_it_is_the_median_of_the_slices() -> None:
    """In one of them the hypervisor took the CPU away."""
    assert costs_of([NOTHING], loaded(100, 120, 110, 90_000, 105), PROGRAMS) == {"a": 110}


def test_what_happens_without_the_load_is_taken_off() -> None:
    """Where a CPU is not watched a program leaves at once; slices are not of one length."""
    idle = [Slice(2 * MS, {"a": (40, 40 * 20)})] * 2
    slices = [Slice(MS, {"a": (70, 50 * 100 + 20 * 20)})] * 3
    assert costs_of(idle, slices, PROGRAMS)["a"] == pytest.approx(100)


@pytest.mark.parametrize(
    ("idle", "slices"),
    [
        (NOTHING, loaded(100, 100)),  # too few slices
        (NOTHING, loaded(100, 100, 100, runs=3)),  # too few runs
        (Slice(MS, {"a": (40, 800)}), loaded(100, 100, 100)),  # most of them are not the load's
        (Slice(MS, {"a": (10, 10_000)}), loaded(100, 100, 100)),  # less time with it than without
    ],
)
def test_what_cannot_be_told_is_none(idle: Slice, slices: list[Slice]) -> None:
    assert costs_of([idle], slices, PROGRAMS) == {"a": None}


def test_only_programs_that_are_asked_for_and_loaded_are_told() -> None:
    assert costs_of([NOTHING], loaded(1, 2, 3), ()) == {}
    assert costs_of([NOTHING], loaded(1, 2, 3), ("a", "b")).keys() == {"a"}


@pytest.mark.parametrize(
    ("slices", "is_settled"),
    [
        (loaded(100, 100, 100), True),
        (loaded(100, 100), False),
        (loaded(100, 100, 100, runs=3), False),  # others kept the load from running
        ([*loaded(1, 1, 1, 1, runs=3), *loaded(100, 100, 100)], True),
    ],
)
def test_it_goes_on_until_the_load_ran(slices: list[Slice], is_settled: bool) -> None:
    assert settled([NOTHING], slices, PROGRAMS) == is_settled


@pytest.mark.parametrize(("slices_of_b", "is_settled"), [(0, True), (1, False), (3, True)])
def test_a_program_that_the_load_makes_run_is_waited_for(
    slices_of_b: int, is_settled: bool
) -> None:
    ran = [50] * slices_of_b + [0] * (3 - slices_of_b)
    slices = [Slice(MS, {"a": (50, 5_000), "b": (count, 100 * count)}) for count in ran]
    nothing = Slice(MS, {"a": (0, 0), "b": (0, 0)})
    assert settled([nothing], slices, ("a", "b")) == is_settled
