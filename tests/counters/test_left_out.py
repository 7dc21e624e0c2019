"""What was left out: in a line, in files, and for who reads the records."""

from __future__ import annotations

import json

import pytest

from noisetop.counters.left_out import (
    BUDGET,
    CHEAP,
    LEFT_OUT,
    LOCAL,
    NOTHING,
    STEPS,
    TIMERS,
    Budget,
    LeftOut,
)

TIMES = (("timer", 240.04), ("ipi", 310.0))
PART = LeftOut((LOCAL, BUDGET), ("who sends", "who arms"), Budget(400, (TIMERS,), TIMES))
LEAST = LeftOut((BUDGET,), ("functions",), Budget(100, STEPS, TIMES))
WHOLE = LeftOut(budget=Budget(2_000, (), TIMES))


def brief(value: LeftOut) -> str:
    return LEFT_OUT.brief(value, 1).text


def test_the_line() -> None:
    assert brief(NOTHING) == ""
    assert brief(LeftOut((CHEAP,), ("a", "b"))) == "--cheap: unknown are a, b"
    added = "adds about 310 ns to an interruption (ipi), or less"
    assert brief(PART) == f"--local --budget of 400 ns: unknown are who sends, who arms; {added}"
    assert brief(WHOLE) == f"--budget of 2.00 µs: nothing is left out; {added}"
    assert "more than the budget, as the least that can be traced adds about" in brief(LEAST)


@pytest.mark.parametrize(
    ("value", "reduced"),
    [
        (NOTHING, set()),
        (LeftOut((LOCAL,), ("a",)), {LOCAL}),
        (LeftOut((CHEAP,), ("a",)), set(STEPS)),
        (PART, {LOCAL, TIMERS}),
        (LEAST, set(STEPS)),
        (WHOLE, set()),
    ],
)
def test_a_file_tells_the_same(value: LeftOut, reduced: set[str]) -> None:
    stored = json.loads(json.dumps(LEFT_OUT.to_file(value)))
    found = LEFT_OUT.from_file(stored)
    assert (found.options, found.unknown) == (value.options, value.unknown)
    assert found.budget.as_dict() == value.budget.as_dict()
    assert found.reduced == value.reduced == reduced
    assert bool(stored) == bool(value or value.budget)


def test_json_has_the_estimate_where_there_is_a_budget() -> None:
    assert LEFT_OUT.as_dict(NOTHING) == {"left_out": {"options": [], "unknown": []}}
    about = {"limit_ns": 400, "steps": ["timers"], "added_ns": {"timer": 240.0, "ipi": 310.0}}
    assert LEFT_OUT.as_dict(PART)["left_out"] == {
        "options": ["local", "budget"],
        "unknown": ["who sends", "who arms"],
        "budget": about,
    }


@pytest.mark.parametrize(
    "budget",
    [
        {"limit_ns": float("inf")},
        {"limit_ns": 10**400},
        {"limit_ns": -5},
        {"limit_ns": "400"},
        {"limit_ns": 400, "added_ns": {"timer": float("nan")}},
        {"limit_ns": 400, "added_ns": {"timer": 10**400}},
        {"limit_ns": 400, "added_ns": {"timer": None}},
        {"limit_ns": 400, "added_ns": 5},
        {"limit_ns": 400, "steps": ["unheard of"]},
        {"limit_ns": 400, "steps": 5},
        5,
    ],
)
def test_a_budget_that_we_did_not_write(budget: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        LEFT_OUT.from_file({"left_out": {"options": ["budget"], "unknown": [], "budget": budget}})
