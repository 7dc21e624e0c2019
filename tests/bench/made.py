"""Tools, settings and rounds of the bench that no machine made."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from bench.parts.added_time import LOADS, Gap, Gaps
from bench.process import ToolProcess
from bench.rounds import Rounds, Turn
from bench.starts import Cost, Costs
from bench.tools import Seen, Session, Setting

SETTING = Setting(1, 0, Path(), ())


@dataclass(frozen=True, slots=True)
class FakeSession:
    events: int

    @property
    def process(self) -> ToolProcess:
        raise AssertionError("a fake has no process")

    def seen(self) -> Seen:
        return Seen(self.events)


@dataclass(frozen=True, slots=True)
class FakeTool:
    name: str
    program: str = "true"
    install: str = "apt install it"
    blind_to: frozenset[str] = frozenset()
    per_interruption: float = 1.0
    events: int = 1_000_000
    headers: Path = Path()

    def run(self, setting: Setting) -> AbstractContextManager[Session]:
        return nullcontext(FakeSession(self.events))


def gap(steady_ns: float) -> Gap:
    return Gap(steady_ns, steady_ns + 100, interruptions=10, sent=10, spun_ns=1_000_000_000)


def rounds_of(added_ns: dict[str, float], count: int = 8) -> Rounds[Gaps]:
    """Every tool adds its own to a gap that drifts from round to round."""
    rounds: Rounds[Gaps] = Rounds()
    for number in range(count):
        base = 7000.0 + 50 * number
        for tool, more in added_ns.items():
            before, during, after = (
                {load.name: gap(value) for load in LOADS}
                for value in (base - 10, base + more, base + 10)
            )
            rounds.add(Turn(tool, before, during, after, Seen(1_000_000)))
    return rounds


def costs_of(loads: Iterable[str], added_ns: dict[str, float]) -> Costs:
    """Every set adds the same under each load in most starts: one had good luck, one bad."""

    def starts(more: float) -> list[Cost]:
        return [Cost(more + some, 5000) for some in (0, 500, 0, -20, 0)]

    return {load: {name: starts(more) for name, more in added_ns.items()} for load in loads}
