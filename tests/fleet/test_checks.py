"""Failed checks of made-up hosts, beside the noise that was planted for them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from noisetop import cli
from noisetop.errors import NoisetopError, UsageError
from noisetop.recording.recording import Recording
from tests.fleet.fleets import BLOCK_NS, fleet_of, host

HOSTS, BLOCKS, COUNT, NET_NS = 6, 10, 50, 30_000
BAD = "irq › 77 bad-nic.3"
FAILING = (1, 4)
CPUS = 2


def check(number: str, status: str, explains: list[list[str]]) -> dict[str, Any]:
    return {
        "id": number, "name": f"name of {number}", "status": status, "cause": "found",
        "explains": explains,
    }  # fmt: skip


def audit(path: Path, name: str, failing: bool) -> Path:
    """Of the interrupts of the bad NIC, of all interrupts, and of something without a source."""
    status = "fail" if failing else "pass"
    checks = [
        check("irq.bad", status, [["irq", "77 bad-*"]]),
        check("irq.all", "warn", [["irq"]]),
        check("other", "fail", []),
    ]
    file = path / f"{name}.json"
    file.write_text(json.dumps({"host": name, "checks": checks}))
    return file


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("checks")
    runs: list[tuple[Recording, dict[str, str]]] = [
        (host(n, blocks=BLOCKS, planted=[(BAD, COUNT, NET_NS)] if n in FAILING else ()), {})
        for n in range(HOSTS)
    ]
    fleet_of(path / "fleet", [*runs, (host(99, blocks=BLOCKS), {})])
    for n in range(HOSTS):
        audit(path, f"node-{n}", n in FAILING)
    audit(path, "elsewhere", failing=True)
    return path


def asked(folder: Path, capsys: pytest.CaptureFixture[str], *more: str) -> dict[str, Any]:
    audits = map(str, sorted(folder.glob("*.json")))
    cli.run(["fleet", "checks", f"{folder}/fleet", "--audits", *audits, "--json", *more])
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_a_failed_check_costs_what_was_planted(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = asked(folder, capsys)
    assert (found["hosts"], found["unaudited"], found["unrecorded"]) == (HOSTS, 1, 1)
    first, second = found["checks"]
    assert (first["id"], first["hosts"], first["passing"]) == ("irq.bad", 2, HOSTS - 2)
    # So often on each CPU, of so much time of each CPU.
    expected = COUNT * NET_NS / (BLOCKS * BLOCK_NS / 1e9)
    assert first["per_s_ns"] == pytest.approx(expected)
    assert first["passing_per_s_ns"] == 0
    assert first["worst"]["source"] == BAD
    assert first["worst"]["host"] in {f"node-{n}" for n in FAILING}
    assert (second["id"], second["hosts"], second["per_s_ns"]) == ("other", HOSTS, None)


def test_warnings_only_where_asked_for(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    numbers = {one["id"] for one in asked(folder, capsys, "--warn")["checks"]}
    assert numbers == {"irq.bad", "irq.all", "other"}


def test_the_table(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    audits = map(str, folder.glob("node-*.json"))
    cli.run(["fleet", "checks", f"{folder}/fleet", "--audits", *audits, "--no-pager"])
    text = capsys.readouterr().out
    assert "2 of 6" in text
    assert "irq.bad name of irq.bad" in text


def test_audits_of_other_hosts_are_refused(folder: Path, tmp_path: Path) -> None:
    file = audit(tmp_path, "nowhere", failing=True)
    with pytest.raises(UsageError, match="no audited host is in the fleet"):
        cli.run(["fleet", "checks", f"{folder}/fleet", "--audits", str(file)])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"host": "", "checks": []}',
        '{"host": "a", "checks": [{"id": 1}]}',
        "{" * 99,
    ],
)
def test_what_is_no_audit_gives_one_line(folder: Path, tmp_path: Path, text: str) -> None:
    (tmp_path / "bad.json").write_text(text)
    with pytest.raises(NoisetopError) as told:
        cli.run(["fleet", "checks", f"{folder}/fleet", "--audits", f"{tmp_path}/bad.json"])
    assert "noisetop check --json" in str(told.value)
    assert "\n" not in str(told.value)
