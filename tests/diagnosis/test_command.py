"""``noisetop diagnose`` on files; none of it needs privileges."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from noisetop.checks import AuditedMachine
from noisetop.cli import run
from noisetop.commands import diagnose
from noisetop.errors import NoisetopError, UsageError
from noisetop.recording.open import open_recording
from noisetop.summary.recorded import summary_of
from tests.recordings import DATA, everything, interruption, recording, table, write_recording


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.noisetop"
    rows = [interruption(1_000_000 * at, 500, source=at % 6, victim=100) for at in range(1, 100)]
    write_recording(recording(table(*rows), metadata={"online": "0-3"}), path, force=False)
    return path


def test_page_of_a_file(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diagnose", str(file)]) == 0
    shown = capsys.readouterr().out
    assert "RCU callbacks run on this CPU" in shown
    assert "(100.0 %), not explained 0 ns" in shown
    assert max(map(len, shown.splitlines()[1:])) <= 80


def test_json_adds_up_to_the_report(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diagnose", "--json", str(file)]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["noise_ns"] == summary_of(open_recording(file)).noise_ns
    assert document["explained_ns"] + document["unexplained_ns"] == document["noise_ns"]
    assert sum(one["net_ns"] for one in document["findings"]) == document["explained_ns"]


def test_save_and_against(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = str(tmp_path / "before.json")
    assert run(["diagnose", str(file), "--save", before]) == 0
    with pytest.raises(NoisetopError):
        run(["diagnose", str(file), "--save", before])
    assert run(["diagnose", str(file), "--save", before, "--force"]) == 0
    capsys.readouterr()
    assert run(["diagnose", str(file), "--against", before]) == 0
    shown = capsys.readouterr().out
    assert "causes since the saved diagnosis" in shown
    assert "remaining: " in shown
    assert run(["diagnose", str(file), "--against", before, "--json"]) == 0
    changes = json.loads(capsys.readouterr().out)["changes"]
    assert {(change["verdict"], change["ratio"]) for change in changes} == {("stayed", 1.0)}


def test_hostile_recording(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.noisetop"
    write_recording(everything(), path, force=False)
    assert run(["diagnose", str(path)]) == 0
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert "Incomplete: it was cut short" in shown


def test_a_machine_that_hides_everything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kernel = os.uname()
    here = {"host": kernel.nodename, "kernel": kernel.release, "kernel_build": kernel.version}
    rows = [interruption(1_000_000 * at, 500, source=at % 6, victim=100) for at in range(1, 100)]
    write_recording(recording(table(*rows), metadata=here), tmp_path / "a.noisetop", force=False)
    root = tmp_path / "empty"
    root.mkdir()
    monkeypatch.setattr(diagnose, "AuditedMachine", lambda **known: AuditedMachine(root, **known))
    assert run(["diagnose", str(tmp_path / "a.noisetop")]) == 0
    shown = capsys.readouterr().out
    assert "RCU callbacks run on this CPU" in shown
    assert "remedy" in shown


@pytest.mark.parametrize(
    "arguments",
    [
        ["-c", "1"],
        ["-p", "1"],
        ["-d", "1s"],
        ["--top", "0"],
        ["--", "true"],
        ["--against", "/nowhere/a.json"],
        ["--save", "/nowhere/a.json"],
    ],
)
def test_wrong_use(file: Path, arguments: list[str]) -> None:
    with pytest.raises(UsageError):
        run(["diagnose", str(file), *arguments])


def test_no_recording(tmp_path: Path) -> None:
    with pytest.raises(NoisetopError, match="there is no file"):
        run(["diagnose", str(tmp_path / "a")])


def _findings(name: str, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    sample = DATA / f"{name}.noisetop"
    assert run(["diagnose", "--json", str(sample)]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["noise_ns"] == summary_of(open_recording(sample)).noise_ns
    assert document["explained_ns"] + document["unexplained_ns"] == document["noise_ns"]
    return list(document["findings"])


def test_nothing_is_found_on_the_quiet_sample(capsys: pytest.CaptureFixture[str]) -> None:
    """A spinning thread on an isolated core that nothing reached for five seconds."""
    assert _findings("quiet", capsys) == []


def test_unloaded_sample_names_only_what_it_holds(capsys: pytest.CaptureFixture[str]) -> None:
    """Of what costs 0.1 % of a CPU or more: the tick of a kernel without nohz_full, the programs
    that were left, and two runs of DAMON, 2.7 ms together."""
    costly = [
        one["key"]
        for one in _findings("unloaded", capsys)
        if isinstance(one["net_ns_per_s"], int) and one["net_ns_per_s"] >= 1_000_000
    ]
    assert costly == ["tick-everywhere", "other-program", "access-monitor-thread"]


def test_noisy_sample_names_what_was_provoked(capsys: pytest.CaptureFixture[str]) -> None:
    """stress-ng --timer --sock --membarrier."""
    samples = {path.stem for path in DATA.glob("*.noisetop")}
    assert samples == {"quiet", "unloaded", "noisy"}, "and the others?"
    found = _findings("noisy", capsys)
    keys = [one["key"] for one in found]
    assert keys[:2] == ["other-program", "packets-received"]
    assert "posix-timer" in keys[:10]
    assert {"stress-ng-sock", "stress-ng-memba"} < {one["name"] for one in found[0]["culprits"]}
