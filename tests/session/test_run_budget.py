"""Where a budget cannot be measured it is refused, in a line with what to type instead."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from noisetop.cli import run
from noisetop.errors import NoisetopError, UsageError
from noisetop.events.symbols import SymbolTable
from noisetop.probe import program_costs as measuring
from noisetop.session import run_budget
from noisetop.session.run_budget import RunBudget
from noisetop.tracing.target import Target

HERE = tuple(sorted(os.sched_getaffinity(0)))


def choose(target: Target, housekeeping: tuple[int, ...] = HERE, *, compiled: bool = False) -> None:
    RunBudget(1, (), target, housekeeping, compiled=compiled).choose(SymbolTable())


@pytest.mark.parametrize(
    ("target", "housekeeping"),
    [
        (Target(HERE), ()),
        (Target(HERE), HERE),  # as -H may say
        (Target((), pid=os.getppid()), HERE),  # it may run on all of them
    ],
)
def test_nothing_is_measured_where_a_victim_may_run(
    target: Target, housekeeping: tuple[int, ...]
) -> None:
    with pytest.raises(NoisetopError, match=r"no CPU is left .* --cheap"):
        choose(target, housekeeping)


def test_nothing_is_measured_beside_bcc() -> None:
    with pytest.raises(NoisetopError, match="BCC: leave out --budget"):
        choose(Target(()), compiled=True)


def test_what_cannot_be_measured_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not a set that nobody knows the cost of."""
    monkeypatch.setattr(
        run_budget, "program_costs", lambda *_: measuring.costs_of([_NONE], [], {"irq_entry"})
    )
    with pytest.raises(NoisetopError, match=r"--budget: .* too busy: leave out --budget"):
        choose(Target(()))


_NONE = measuring.Slice(1, {"irq_entry": (0, 0)})


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--cheap", "--budget", "300ns"), "give one of them"),
        (("--budget", "soon"), "'soon' is not a duration"),
        (("--budget", "0"), "'0' is not a duration"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_traced(
    options: tuple[str, ...], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("noisetop.session.traced_run.check_privileges", lambda: None)
    with pytest.raises(UsageError, match=words):
        run(["record", *options, "-d", "1s", "-o", str(tmp_path / "a.noisetop")])
    assert not list(tmp_path.iterdir())
