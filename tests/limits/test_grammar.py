from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisetop.errors import UsageError
from noisetop.limits.grammar import COUNT, PERCENT, TIME, Limit, parse_limits


def test_a_list_is_taken_apart() -> None:
    text = 'noise>0.1%, cost>1.5%,single>50us,source:"ipi › *, x">0,source:"irq/*">2%,lost>0'
    assert parse_limits(text) == (
        Limit("noise>0.1%", "noise", PERCENT, 0.1),
        Limit("cost>1.5%", "cost", PERCENT, 1.5),
        Limit("single>50us", "single", TIME, 50_000),
        Limit('source:"ipi › *, x">0', "source", COUNT, 0, "ipi › *, x"),
        Limit('source:"irq/*">2%', "source", PERCENT, 2.0, "irq/*"),
        Limit("lost>0", "lost", COUNT, 0),
    )


@pytest.mark.parametrize(
    ("value", "bound_ns"),
    [("0us", 0), ("1.5µs", 1_500), ("2ms", 2_000_000), ("1.0009us", 1_000), ("1s", 10**9)],
)
def test_times(value: str, bound_ns: int) -> None:
    assert parse_limits(f"single > {value}")[0].bound == bound_ns
    assert parse_limits(f'source:"*">{value}')[0].unit == TIME


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("", "has an empty limit: write for example 'noise>"),
        ("noise>1%,", "has an empty limit"),
        ("noise", "'noise' is not a limit: write for example"),
        ("noise>=1%", "has no number: write for example 'noise>0.1%'"),
        ("noise<1%", "is not a limit"),
        ("sound>1%", "there is no limit 'sound': known are noise, cost, single, lost, source"),
        ("noise>1", "has no unit: write for example 'noise>0.1%'"),
        ("single>50", "has no unit: write for example 'single>50us'"),
        ("single>1%", "has the wrong unit: write for example 'single>50us'"),
        ("lost>1us", "has the wrong unit: write for example 'lost>0'"),
        ("lost>0.5", "has no whole number: write for example 'lost>0'"),
        ("single>5parsec", "has an unknown unit"),
        ("noise>100%", "can never be exceeded"),
        ("noise>-1%", "has no number"),
        ("noise>٣%", "has no number"),
        ("source>0", "names no source: write 'source:"),
        ('source:"">0', "names no source"),
        ('source:"ipi>0', "a quote without its end"),
        ('noise:"x">1%', "only source takes a name: write 'noise>0.1%'"),
        ("\x1b[2J>1", r"'\\x1b\[2J>1' is not a limit"),
    ],
)
def test_a_wrong_limit_says_what_to_type(text: str, advice: str) -> None:
    with pytest.raises(UsageError, match=advice) as raised:
        parse_limits(text)
    assert "\n" not in str(raised.value)


@given(st.text() | st.text(alphabet='noisecstlur:"*>%.,01 µ/' + string.digits))
def test_whatever_is_typed_is_taken_or_refused_in_one_line(text: str) -> None:
    limits, said = taken(text)
    assert said.isprintable()
    assert bool(limits) == (not said)
    assert all(parse_limits(one.text) == (one,) for one in limits)


def taken(text: str) -> tuple[tuple[Limit, ...], str]:
    """The limits, or why not."""
    try:
        return parse_limits(text), ""
    except UsageError as error:
        return (), str(error)
