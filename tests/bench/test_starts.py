"""Held programs in start after start, on made-up ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import cast

import pytest

from bench import starts
from bench.held import Holdable
from bench.parts.unwatched import elsewhere
from bench.rounds import Rounds, Turn
from bench.starts import Cost, TurnLoad, cost_of, take_starts
from bench.tools import Seen, Setting
from noisetop.errors import NoisetopError
from tests.bench.made import SETTING, FakeTool


def tools(*names: str) -> tuple[Holdable, ...]:
    return tuple(cast(Holdable, FakeTool(name)) for name in names)


@dataclass(slots=True)
class Loaded:
    """In which order sets were loaded, and which CPU they watched."""

    orders: list[tuple[int, str]]


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> Loaded:
    orders: list[tuple[int, str]] = []

    @contextmanager
    def held(tools: Sequence[Holdable], setting: Setting) -> Iterator[Sequence[Holdable]]:
        orders.append((setting.cpu, "".join(tool.name for tool in tools)))
        yield tools

    monkeypatch.setattr(starts, "held", held)
    return Loaded(orders)


def test_the_order_of_starts_rotates(loaded: Loaded) -> None:
    places = {
        SETTING: [TurnLoad("here", 2, lambda: 1.0)],
        elsewhere(SETTING): [TurnLoad("there", 1, lambda: 2.0)],
    }
    costs = take_starts(tools(*"abc"), places, 3)
    assert loaded.orders == [(1, "abc"), (0, "abc"), (1, "bca"), (0, "bca"), (1, "cab"), (0, "cab")]
    assert costs == {
        "here": {name: [Cost(0, 1)] * 3 for name in "abc"},
        "there": {name: [Cost(0, 2)] * 3 for name in "abc"},
    }


def test_the_value_of_a_start_is_that_of_its_quiet_turns() -> None:
    rounds: Rounds[float] = Rounds()
    for disturbed in (0, 0, 900, 700, 0):
        rounds.add(Turn("a", 90, 160.0 + disturbed, 110.0 + 900 - disturbed, Seen(1)))
    assert cost_of(rounds, "a").added_ns == pytest.approx(160 - (90 + 110 + 0.4 * 200) / 2)


def test_programs_that_recorded_nothing_are_refused(loaded: Loaded) -> None:
    places = {SETTING: [TurnLoad("here", 2, lambda: 1.0)]}
    blind = FakeTool("a", events=0)
    with pytest.raises(NoisetopError, match="a recorded nothing"):
        take_starts([cast(Holdable, blind)], places, 1)
    empty = replace(blind, per_interruption=0)
    assert take_starts([cast(Holdable, empty)], places, 1)
