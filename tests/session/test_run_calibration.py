"""Which calibration a run uses, and why it has none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from noisetop.counters.calibration import MEASURED, Calibration, EntryCost
from noisetop.events.symbols import SymbolTable
from noisetop.machine.state_folder import state_folder
from noisetop.probe.stored_calibration import calibration_facts, calibration_path, keep
from noisetop.session import run_calibration
from noisetop.session.run_calibration import RunCalibration
from noisetop.tracing.stopper import Stopper
from noisetop.tracing.target import Target

MADE = Calibration({"timer": EntryCost(5_000, 4_000, 7_000, MEASURED)})
HERE = tuple(sorted(os.sched_getaffinity(0)))


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(run_calibration, "SYSTEM_FOLDER", tmp_path / "system")


def find(
    target: Target, housekeeping: tuple[int, ...] = HERE, *, compiled: bool = False
) -> Calibration:
    stopper = Stopper()
    try:
        run = RunCalibration(target, housekeeping, faults=False, compiled=compiled)
        return run.find(SymbolTable(), stopper, print)
    finally:
        stopper.close()


def test_a_kept_one_is_used(capsys: pytest.CaptureFixture[str]) -> None:
    keep(state_folder(), calibration_facts(), MADE)
    assert find(Target(HERE)) == MADE
    assert capsys.readouterr().out == ""


def test_that_of_the_system_is_used(tmp_path: Path) -> None:
    keep(tmp_path / "system", calibration_facts(), MADE)
    assert find(Target(HERE)) == MADE


def test_a_bad_one_is_told_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    path = calibration_path(state_folder(), calibration_facts())
    path.parent.mkdir()
    path.write_text("{")
    assert find(Target(HERE)).reason
    assert capsys.readouterr().out.count("\n") == 1


@pytest.mark.parametrize(
    ("target", "housekeeping"),
    [
        (Target(HERE), ()),
        (Target(HERE), HERE),  # as -H may say
        (Target((), pid=os.getppid()), HERE),  # it may run on all of them
        (Target((), tids=(os.getppid(),)), HERE),
    ],
)
def test_none_is_made_where_a_victim_may_run(target: Target, housekeeping: tuple[int, ...]) -> None:
    found = find(target, housekeeping)
    assert not found.kinds
    assert "no CPU is left" in found.reason


def test_none_is_made_beside_bcc() -> None:
    assert "BCC" in find(Target(()), compiled=True).reason
