"""What the options of a traced run come to."""

from __future__ import annotations

import pytest

from noisetop.cli import run
from noisetop.machine import system
from noisetop.session.options import housekeeping_warning
from noisetop.tracing.target import Target

_WITHOUT = "no housekeeping CPU: noisetop perturbs the measurement: "


@pytest.mark.parametrize(
    ("housekeeping", "target", "warning"),
    [
        ((), Target((0, 1)), f"{_WITHOUT}watch fewer with -c, or give one with -H LIST"),
        (
            (),
            Target((0, 1), cgroup_id=7),
            f"{_WITHOUT}watch fewer with -c, or give one with -H LIST",
        ),
        ((), Target((0, 1), pid=7), f"{_WITHOUT}give one with -H LIST"),
        ((0,), Target((0, 1), pid=7), ""),
        ((0,), Target((1,)), ""),
        (
            (0,),
            Target((0, 1)),
            "housekeeping on a watched CPU perturbs the measurement: choose others with -H",
        ),
    ],
)
def test_warning_about_housekeeping(
    housekeeping: tuple[int, ...], target: Target, warning: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(system, "present_cpus", lambda: (0, 1))
    assert housekeeping_warning(housekeeping, target) == warning


@pytest.mark.parametrize("target", [Target((0,)), Target((0,), pid=7)])
def test_a_machine_with_one_cpu_has_none_to_give(
    target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(system, "present_cpus", lambda: (0,))
    assert housekeeping_warning((), target) == f"{_WITHOUT}this machine has one CPU"


@pytest.mark.parametrize(
    ("command", "default"), [("record", "until Ctrl-C"), ("diagnose", "10s"), ("top", "until q")]
)
def test_help_of_the_duration_fits_the_command(
    command: str, default: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        run([command, "--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert f"how long, as in 500ms, 10s, 1m; default: {default}" in text
