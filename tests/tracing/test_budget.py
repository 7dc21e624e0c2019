"""Which set a budget comes to, by made-up costs of the programs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisetop.counters.left_out import BUDGET, CHEAP, LOCAL, STEPS, TIMERS
from noisetop.errors import NoisetopError
from noisetop.tracing.budget import MEASURED, SENT, expected_ns, within_budget
from noisetop.tracing.program_sets import COMPLETE, program_set
from noisetop.tracing.tracer import program_names

EACH_NS = 100.0
ON_X86 = sorted(name for name in MEASURED if not name.startswith(("irq_", "vector_")))
COSTS = dict.fromkeys(ON_X86, EACH_NS)
"""An interrupt of the timer runs four programs, an IPI three, a softirq five."""


@pytest.mark.parametrize(
    ("limit_ns", "steps", "most"),
    [
        (500, (), ("softirq", 500.0)),
        (499, (TIMERS,), ("ipi", 300.0)),
        (300, (TIMERS,), ("ipi", 300.0)),
        (299, STEPS, ("softirq", 300.0)),
        (1, STEPS, ("softirq", 300.0)),
    ],
)
def test_parts_are_left_out_one_after_the_other(
    limit_ns: int, steps: tuple[str, ...], most: tuple[str, float]
) -> None:
    budget = within_budget(limit_ns, COSTS).left_out.budget
    assert (budget.limit_ns, budget.steps) == (limit_ns, steps)
    assert budget.most[1] == most[1]


def test_its_ends_are_the_complete_set_and_cheap() -> None:
    large, small = within_budget(10_000, COSTS), within_budget(1, COSTS)
    assert large.programs == COMPLETE.programs
    assert not large.left_out
    cheap = program_set([CHEAP])
    assert small.programs == cheap.programs
    assert small.left_out.unknown == cheap.left_out.unknown
    assert small.left_out.reduced == cheap.left_out.reduced
    assert small.left_out.options == (BUDGET,)


def test_local_stays_left_out() -> None:
    for limit_ns, options in ((10_000, [LOCAL]), (1, [LOCAL, CHEAP])):
        chosen, same = within_budget(limit_ns, COSTS, [LOCAL]), program_set(options)
        assert set(chosen.programs) == set(same.programs)
        assert set(chosen.left_out.unknown) == set(same.left_out.unknown)
        assert LOCAL in chosen.left_out.reduced


ns = st.floats(0, 10_000)
limits = st.integers(1, 100_000)


@given(
    st.fixed_dictionaries(dict.fromkeys(ON_X86, ns)),
    st.sampled_from([(), (LOCAL,)]),
    limits,
    limits,
)
def test_a_larger_budget_never_takes_less(
    costs: dict[str, float | None], options: tuple[str, ...], one: int, other: int
) -> None:
    smaller, larger = sorted((one, other))
    less, more = within_budget(smaller, costs, options), within_budget(larger, costs, options)
    assert set(more.programs) <= set(less.programs)
    assert set(more.left_out.unknown) <= set(less.left_out.unknown)


@given(st.fixed_dictionaries(dict.fromkeys(ON_X86, ns)), limits)
def test_what_is_chosen_keeps_the_budget_or_is_the_least(
    costs: dict[str, float | None], limit_ns: int
) -> None:
    chosen = within_budget(limit_ns, costs)
    most_ns = max(expected_ns(costs, chosen.programs).values())
    assert most_ns <= limit_ns or chosen.left_out.budget.steps == STEPS
    assert chosen.left_out.budget.most[1] == most_ns


def test_what_was_not_measured_costs_as_much_as_what_does_the_same() -> None:
    costs: dict[str, float | None] = {**COSTS, **dict.fromkeys(SENT & COSTS.keys())}
    costs |= {"local_timer_entry": 70.0, "hrtimer_entry_twin_1": 40.0}
    assert expected_ns(costs, ())["ipi"] == 70 + EACH_NS + 40


def test_a_program_that_the_kernel_does_not_take_costs_nothing() -> None:
    costs = {name: cost for name, cost in COSTS.items() if name != "csd_entry"}
    assert expected_ns(costs, ())["ipi"] == 2 * EACH_NS


def test_elsewhere_timers_are_device_interrupts_and_one_vector_has_all_ipis() -> None:
    """As on arm64."""
    entries = ("local_timer", "call_function_single")
    costs: dict[str, float | None] = {
        name: cost for name, cost in COSTS.items() if not name.startswith(entries)
    }
    costs |= {"irq_entry": 10.0, "irq_exit": 10.0, "vector_entry": None, "vector_exit": 30.0}
    assert expected_ns(costs, ())["timer"] == 2 * EACH_NS + 20
    assert expected_ns(costs, ())["ipi"] == EACH_NS + 10 + 30


def test_where_nothing_was_measured_there_is_no_estimate() -> None:
    with pytest.raises(NoisetopError, match="too busy"):
        within_budget(1_000, dict.fromkeys(ON_X86))


def test_programs_have_their_names() -> None:
    """Those of this architecture."""
    assert set(ON_X86) <= set(program_names()) or "vector_entry" in program_names()
