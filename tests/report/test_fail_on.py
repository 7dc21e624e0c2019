"""``--fail-on``, ``--junit`` and ``--markdown`` of the report, through the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from noisetop.cli import run
from noisetop.errors import UsageError
from noisetop.text.column import percent
from tests.in_process import run_in_process
from tests.recordings import DATA, everything, write_recording

NOISY = str(DATA / "noisy.noisetop")
LIMITS = 'noise>0.1%,single>1us,source:"ipi › *">0,source:"thread/*">1us,lost>0'


@pytest.fixture
def hostile(tmp_path: Path) -> str:
    path = tmp_path / "hostile.noisetop"
    write_recording(everything(), path, force=False)
    return str(path)


def content_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    run(["report", *arguments, "--json"])
    return json.loads(capsys.readouterr().out)


def test_an_exceeded_limit_is_a_line_on_stderr_and_status_3(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["report", NOISY, "--fail-on", "single>1ms,lost>0,noise>99%"]) == 3
    captured = capsys.readouterr()
    (line,) = captured.err.splitlines()
    assert line.startswith("noisetop: limit single>1ms exceeded: 6.12 ms on CPU 1, mostly thread")
    assert " at 0.036656 s" in line
    assert "Longest interruptions" in captured.out


def test_limits_that_are_kept_say_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", NOISY, "--fail-on", "single>1s,lost>0"]) == 0
    assert capsys.readouterr().err == ""


def test_values_are_those_of_the_json(capsys: pytest.CaptureFixture[str]) -> None:
    content = content_of(capsys, NOISY, "--fail-on", LIMITS)
    noise, single, ipis, threads, lost = content["limits"]
    cpus, duration_ns = content["cpus"], content["duration_ns"]
    external = {cpu: percent(one["external_ns"], duration_ns) for cpu, one in cpus.items()}
    assert noise["value"] == external[str(noise["cpu"])] == max(external.values())
    assert single["value"] == content["worst"][0]["noise_ns"]
    assert single["start_ns"] == content["worst"][0]["start_ns"]
    sources = [
        one
        for cpu in cpus.values()
        for one in cpu["sources"]
        if one["origin"] != "self" and not one["aside"]
    ]
    of_ipis = [one for one in sources if one["class"] == "ipi"]
    assert ipis["value"] == sum(one["count"] - one["idle_count"] for one in of_ipis)
    longest = max((one for one in sources if one["class"] == "thread"), key=lambda s: s["max_ns"])
    assert threads["value"] == longest["max_ns"]
    assert (threads["source"], threads["start_ns"]) == (longest["path"], longest["max_start_ns"])
    assert lost["value"] == content["lost"]
    assert [one["exceeded"] for one in content["limits"]] == [True] * 4 + [False]
    assert [one["unit"] for one in content["limits"]] == ["%", "ns", "count", "ns", "count"]


def test_without_limits_there_are_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert content_of(capsys, NOISY)["limits"] == []


def test_a_part_is_judged_alone(capsys: pytest.CaptureFixture[str]) -> None:
    part = (NOISY, "--from", "100ms", "--to", "200ms", "--fail-on", "single>1us")
    content = content_of(capsys, *part)
    assert content["limits"][0]["value"] == content["worst"][0]["noise_ns"]


def test_a_wrong_limit_ends_it_before_the_file_is_read() -> None:
    with pytest.raises(UsageError, match="'noise>1' has no unit"):
        run(["report", "missing", "--fail-on", "noise>1"])


def test_lost_records_that_may_hide_noise_are_told(
    hostile: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["report", hostile, "--fail-on", "single>50s"]) == 0
    told = capsys.readouterr().err
    assert told.startswith("noisetop: single>50s may be exceeded unseen, as 6 records were lost")


def test_junit_and_text_of_hostile_names(
    hostile: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "limits.xml"
    arguments = ["report", hostile, "--fail-on", 'source:"thread/*">0,lost>99', "--junit"]
    assert run([*arguments, str(path)]) == 3
    assert capsys.readouterr().err.replace("\n", "").isprintable()
    (suite,) = ElementTree.fromstring(path.read_bytes())
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    assert "<script>" in str(suite.findtext("testcase/failure"))
    with pytest.raises(UsageError, match="--force"):
        run([*arguments, str(path)])
    assert run([*arguments, str(path), "--force"]) == 3
    assert sorted(one.name for one in tmp_path.iterdir()) == ["hostile.noisetop", "limits.xml"]


def test_junit_takes_limits(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--junit goes with --fail-on LIMITS"):
        run(["report", NOISY, "--junit", str(tmp_path / "a.xml")])


def test_net_leaves_no_cost_to_limit() -> None:
    with pytest.raises(UsageError, match="--net leaves no estimate"):
        run(["report", NOISY, "--net", "--fail-on", "cost>1%"])


def test_markdown_goes_to_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", NOISY, "--markdown", "--fail-on", "lost>0"]) == 0
    assert capsys.readouterr().out.startswith("## noisetop: all 1 limits kept\n\n| Verdict")


def test_json_and_markdown_exclude_each_other() -> None:
    with pytest.raises(UsageError, match="not allowed with"):
        run(["report", NOISY, "--json", "--markdown"])


@pytest.mark.parametrize(
    ("limits", "status"), [("lost>0", 0), ("noise>0.1%", 3), ("noise>1", 2), ("cost>1%", 1)]
)
def test_status_of_the_program(limits: str, status: int) -> None:
    done = run_in_process("report", NOISY, "--json", "--fail-on", limits)
    assert done.returncode == status
    assert len(done.stderr.splitlines()) == (status != 0)


def test_status_of_a_process() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "noisetop", "report", NOISY, "--json", "--fail-on", "noise>0.1%"],
        env={**os.environ, "PYTHONSAFEPATH": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3
    assert len(done.stderr.splitlines()) == 1
