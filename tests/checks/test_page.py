"""What the user sees."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from noisetop.checks import Machine, Status, page, run_checks
from tests.checks.trees import CPU, Changes, irq, machine, task

_BAD: Changes = {
    f"{CPU}/nohz_full": "\n",
    "/proc/sys/vm/stat_interval": "1\n",
    **irq(36, "eth0\x1b[2J\u202e rx", "2", "0-3"),
    **task(70, "evil\x1b]0;x\x07", "0-3", cpu=2),
}


@pytest.fixture
def bad(tmp_path: Path) -> Machine:
    return machine(tmp_path, _BAD)


@pytest.mark.parametrize("width", [60, 80, 100])
def test_lines_fit(bad: Machine, width: int) -> None:
    text = page.text(run_checks(bad), bad, width=width)
    too_long = [line for line in text.splitlines() if len(line) > width]
    # A path in a command cannot be broken and still be pasted.
    assert [line for line in too_long if "/sys/" not in line and "/proc/" not in line] == []


def test_nothing_reaches_the_terminal_unescaped(bad: Machine) -> None:
    text = page.text(run_checks(bad), bad)
    assert "\\x1b" in text
    assert all(character.isprintable() or character == "\n" for character in text)


def test_cause_comes_first_then_evidence_then_remedy_then_undo(bad: Machine) -> None:
    lines = page.text(run_checks(bad), bad).splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("FAIL C02"))
    labels = [
        line.split()[0] for line in lines[start + 1 : lines.index("", start)] if line[10] != " "
    ]
    assert labels[labels.index("why") :] == ["why", "read", "expected", "fix", "undo", "note"]
    assert "interrupts every program" in lines[start]


def test_summary_counts_everything(bad: Machine) -> None:
    results = run_checks(bad)
    last = page.text(results, bad).splitlines()[-1]
    numbers = [int(part.split()[0]) for part in last.split(", ")]
    assert sum(numbers) == len(results) == 60
    assert numbers[0] == page.counts(results)[Status.FAIL]


def test_remedy_that_needs_a_reboot_says_so(bad: Machine) -> None:
    assert "takes effect after a reboot" in page.text(run_checks(bad), bad)


def test_colour_only_when_asked(bad: Machine) -> None:
    results = run_checks(bad)
    assert "\x1b[31mFAIL\x1b[0m" in page.text(results, bad, colour=True)
    assert "\x1b" not in page.text(results, bad)


def test_all_watched_is_said_at_the_top(tmp_path: Path) -> None:
    seen = machine(tmp_path, cpus=(0, 1, 2, 3))
    head = page.text(run_checks(seen), seen).split("\n\n")[0]
    assert "noisetop check -c 1-3" in head


@pytest.mark.parametrize("width", [20, 40, 70])
def test_broken_command_is_the_same_command(width: int) -> None:
    command = "for i in 'a b' c d e f; do echo \"x  y\" > /sys/$i/mask; done"
    lines = page.wrap_command(command, width)
    assert shlex.split("\n".join(lines).replace("\\\n", " ")) == shlex.split(command)


def test_json_has_everything(bad: Machine) -> None:
    results = run_checks(bad)
    text = page.as_json(results, bad, "1.2")
    assert text.isascii()
    document = json.loads(text)
    assert document["counts"] == {str(k): v for k, v in page.counts(results).items()}
    assert document["cpus"] == "2-3"
    assert document["housekeeping"] == "0-1"
    first = document["checks"][0]
    assert first["id"] == "C02"
    assert first["status"] == "fail"
    assert first["read"] == [{"path": f"{CPU}/nohz_full", "value": "(empty)"}]
    assert first["remedy"]["reboot"] is True
    assert ["timer", "*", "tick_nohz_handler"] in first["explains"]
