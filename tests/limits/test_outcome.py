from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisetop.limits.grammar import Limit, parse_limits
from noisetop.limits.outcome import Culprit, Outcome, exceeded, loss_warning
from noisetop.text.units import NS_PER_UNIT


def limit(text: str) -> Limit:
    return parse_limits(text)[0]


def number(shown: str) -> Decimal:
    value, _, unit = shown.partition(" ")
    return Decimal(value) * NS_PER_UNIT.get(unit, 1)


@given(st.integers(0, 10**13), st.integers(0, 10**13) | st.just(0), st.integers(-2, 2))
def test_a_shown_time_compares_as_the_time_does(bound: int, value: int, near: int) -> None:
    for value_ns in (value, max(bound + near, 0)):
        one = Outcome(limit(f"single>{bound}ns"), value_ns)
        assert (number(one.value_text) > bound) == one.exceeded == (value_ns > bound)


@given(st.decimals(0, 99, places=4), st.floats(0, 100), st.floats(-1e-9, 1e-9))
def test_a_shown_share_compares_as_the_share_does(
    bound: Decimal, value: float, near: float
) -> None:
    for share in (value, max(float(bound) + near, 0.0)):
        one = Outcome(limit(f"noise>{bound:f}%"), share)
        shown = float(one.value_text.removesuffix(" %"))
        assert (shown > float(bound)) == one.exceeded == (share > float(bound))


def test_a_figure_at_the_bound_is_within_it() -> None:
    assert not Outcome(limit("single>50us"), 50_000).exceeded
    one = Outcome(limit("single>50us"), 50_001)
    assert one.exceeded
    assert one.value_text == "50001 ns"


def test_the_line_names_limit_figure_source_who_and_moment() -> None:
    culprit = Culprit(("ipi", "a", "b"), "stress 7", 12_300, 2_500_000_000)
    one = Outcome(limit("noise>0.1%"), 0.25, 2, culprit, period_start_ns=1_000_000_000)
    assert one.line == (
        "limit noise>0.1% exceeded: 0.2500 % on CPU 2, mostly ipi › a › b by stress 7, "
        "worst single 12.3 µs at 1.500000 s"
    )
    assert one.as_dict() == {
        "limit": "noise>0.1%",
        "value": 0.25,
        "unit": "%",
        "exceeded": True,
        "cpu": 2,
        "source": ["ipi", "a", "b"],
        "who": "stress 7",
        "start_ns": 2_500_000_000,
    }


def test_a_longest_one_is_not_said_twice() -> None:
    culprit = Culprit(("irq", "36"), None, 12_300, 1_500_000_000)
    one = Outcome(limit("single>1us"), 12_300, 3, culprit, period_start_ns=1_000_000_000)
    expected = "limit single>1us exceeded: 12.3 µs on CPU 3, mostly irq › 36, at 0.500000 s"
    assert one.line == expected


def test_without_a_longest_one_there_is_no_moment() -> None:
    one = Outcome(limit('source:"irq/*">1'), 2, None, Culprit(("irq", "36")))
    assert one.line == 'limit source:"irq/*">1 exceeded: 2, mostly irq › 36'


def test_what_is_not_known_is_null() -> None:
    one = Outcome(limit("lost>0"), 0)
    assert one.line == "limit lost>0 kept: 0"
    assert [one.as_dict()[key] for key in ("cpu", "source", "who", "start_ns")] == [None] * 4
    assert Outcome(limit("single>1us"), 9, 1, Culprit(())).as_dict()["source"] is None


def test_names_in_a_line_are_harmless() -> None:
    one = Outcome(limit("noise>0.1%"), 1.0, 2, Culprit(("thread", "\x1b[2J\n"), None))
    assert one.line.isprintable()


@pytest.mark.parametrize(
    ("lost", "damage", "words"),
    [
        (0, "", ""),
        (3, "", "noise>0.1% may be exceeded unseen, as 3 records were lost; record again with"),
        (0, "cut", "noise>0.1% may be exceeded unseen, as the file is damaged: cut; record again"),
    ],
)
def test_a_loss_that_may_hide_something_is_told(lost: int, damage: str, words: str) -> None:
    kept, crossed = Outcome(limit("noise>0.1%"), 0.0), Outcome(limit("single>1us"), 9_000)
    counted = Outcome(limit("lost>9"), lost)
    found = loss_warning((kept, crossed, counted), lost, damage)
    assert found.startswith(words)
    assert bool(found) == bool(words)
    assert loss_warning((crossed, counted), lost, damage) == ""
    assert exceeded((kept, crossed, counted)) == (crossed,)
