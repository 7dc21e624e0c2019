"""Bad input to the probes is one line, before anything starts."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from noisetop.cli import run
from noisetop.commands import probe
from noisetop.errors import NoisetopError, UsageError
from noisetop.gaps.files import write_result
from noisetop.gaps.result import ProbeResult, SpinResult
from noisetop.output import Output
from noisetop.probe.spin import SpinSettings
from noisetop.tracing.stopper import Stopper
from tests.gaps.results import spin_result

CPUS = sorted(os.sched_getaffinity(0))
ALL = ",".join(map(str, CPUS))


@pytest.mark.parametrize(
    "arguments",
    [
        "",
        "spun",
        "spin -c 4000",
        "spin -c x",
        f"spin -c {ALL} --load 1",
        "spin --load -1",
        "spin -T 0",
        "spin -P y:3",
        "spin --busy 0",
        "spin --busy 50,x",
        "spin -d 0s",
        "spin --periods -1",
        "spin -o /tmp/result.txt",
        "spin -o /nonexistent/result.json",
        "switch -n 1",
        f"switch -c {ALL},4000",
        "numa --repeats 0",
        "numa --size 0",
        "calibrate -c 4000",
        "calibrate -d 0s",
        "calibrate -H x",
        "spin -- true",
    ],
)
def test_bad_input_is_one_line(arguments: str) -> None:
    with pytest.raises(UsageError) as error:
        run(["probe", *arguments.split()])
    assert "\n" not in str(error.value)
    assert error.value.exit_code == 2


def test_a_threshold_under_the_resolution_is_one_line() -> None:
    with pytest.raises(UsageError, match="under what the loop can see: use -T"):
        run(["probe", "spin", "-c", str(CPUS[-1]), "-T", "1", "-d", "1s", "--no-trace"])


def spin_into(path: Path, *more: str) -> list[int]:
    """The settings that are in the file."""
    assert run(["probe", "spin", "-c", str(CPUS[-1]), "--no-trace", "-o", str(path), *more]) == 0
    return [one["busy_percent"] for one in json.loads(path.read_bytes())["spin"]]


def test_a_signal_after_the_measurement_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hang_up_and_write(result: ProbeResult, output: Output) -> None:
        os.kill(os.getpid(), signal.SIGHUP)
        write_result(result, output)

    def fail(*_: object) -> None:
        raise AssertionError("the signal would have ended it")

    monkeypatch.setattr(probe, "run_spin", lambda *_: spin_result(100).spin[0])
    monkeypatch.setattr(probe, "write_result", hang_up_and_write)
    before = signal.signal(signal.SIGHUP, fail)
    try:
        assert spin_into(tmp_path / "a.json") == [100]
    finally:
        signal.signal(signal.SIGHUP, before)


def test_stopping_in_the_second_setting_keeps_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run_one(settings: SpinSettings, stopper: Stopper, _: object) -> SpinResult:
        if settings.busy_percent == 100:
            return spin_result(100).spin[0]
        stopper.stop()
        raise NoisetopError("the loops were stopped before they had begun: use a longer -d")

    monkeypatch.setattr(probe, "run_spin", run_one)
    assert spin_into(tmp_path / "a.json", "--busy", "100,50,10") == [100]


def test_stopping_before_anything_was_measured_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(settings: SpinSettings, stopper: Stopper, _: object) -> SpinResult:
        stopper.stop()
        raise NoisetopError("too early")

    monkeypatch.setattr(probe, "run_spin", refuse)
    with pytest.raises(NoisetopError, match="too early"):
        spin_into(tmp_path / "a.json")
