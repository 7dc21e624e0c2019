"""The order of a run: every tool in every round, each between two periods without a tool."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from bench.tools import Seen, Setting, Tool

Measured = TypeVar("Measured")
AnyTool = TypeVar("AnyTool", bound=Tool)


@dataclass(frozen=True, slots=True)
class Turn(Generic[Measured]):
    """A tool's turn in a round."""

    tool: str
    before: Measured
    during: Measured
    after: Measured
    seen: Seen


@dataclass(slots=True)
class Rounds(Generic[Measured]):
    """All turns of a run, by tool, in the order of the rounds."""

    turns: dict[str, list[Turn[Measured]]] = field(default_factory=dict)

    def add(self, turn: Turn[Measured]) -> None:
        """Keeps a turn."""
        self.turns.setdefault(turn.tool, []).append(turn)

    def only(self, part: str) -> Rounds[Any]:
        """Of rounds that measured several parts together, one part's."""
        picked: Rounds[Any] = Rounds()
        for turns in self.turns.values():
            for turn in turns:
                periods = (turn.before, turn.during, turn.after)
                before, during, after = (_part_of(period, part) for period in periods)
                picked.add(Turn(turn.tool, before, during, after, turn.seen))
        return picked

    def complete(self) -> int:
        """Rounds that every tool has been through."""
        return min((len(turns) for turns in self.turns.values()), default=0)


Samples = tuple[list[float], list[float], list[float]]


def samples_of(rounds: Rounds[float], tool: str) -> Samples:
    """What was measured with a tool, before it and after it, by round."""
    turns = rounds.turns[tool]
    return [t.during for t in turns], [t.before for t in turns], [t.after for t in turns]


def order_of(tools: Sequence[AnyTool], round_number: int) -> tuple[AnyTool, ...]:
    """The tools, rotated by the round, so that none always follows the same one."""
    start = round_number % len(tools) if tools else 0
    return (*tools[start:], *tools[:start])


def take_rounds(
    tools: Sequence[Tool],
    setting: Setting | Callable[[Tool], Setting],
    rounds: int,
    measure: Callable[[], Measured],
) -> Rounds[Measured]:
    """Measures without and with each tool, round after round; tools may differ in their setting."""
    setting_of = setting if callable(setting) else lambda tool: setting
    return _take(tools, setting_of, announced(rounds), measure)


def take_turns(
    tools: Sequence[Tool], setting: Setting, turns: int, measure: Callable[[], Measured]
) -> Rounds[Measured]:
    """The same for so many rounds that are too short to be announced."""
    return _take(tools, lambda tool: setting, range(turns), measure)


def _take(
    tools: Sequence[Tool],
    setting_of: Callable[[Tool], Setting],
    numbers: Iterable[int],
    measure: Callable[[], Measured],
) -> Rounds[Measured]:
    result: Rounds[Measured] = Rounds()
    for number in numbers:
        before = measure()
        for tool in order_of(tools, number):
            with tool.run(setting_of(tool)) as session:
                during = measure()
            after = measure()
            result.add(Turn(tool.name, before, during, after, session.seen()))
            before = after
    return result


def _part_of(period: object, part: str) -> object:
    assert isinstance(period, dict)
    return period[part]


def announced(rounds: int) -> Iterator[int]:
    """The numbers of the rounds, each told when it is over."""
    for number in range(rounds):
        start = time.monotonic()
        yield number
        seconds = time.monotonic() - start
        print(f"bench: round {number + 1} of {rounds}, {seconds:.0f} s", file=sys.stderr)
