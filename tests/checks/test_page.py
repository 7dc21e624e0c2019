"""What the user sees."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from noisetop.checks import AuditedMachine, Status, page, run_checks
from noisetop.text.styled import BAD, DETAIL, DOUBTFUL, GOOD, HEADING, Span, spans_of
from tests.checks.trees import CPU, Changes, irq, machine, task

_BAD: Changes = {
    f"{CPU}/nohz_full": "\n",
    "/proc/sys/vm/stat_interval": "1\n",
    **irq(36, "eth0\x1b[2J\u202e rx", "2", "0-3"),
    **task(70, "evil\x1b]0;x\x07", "0-3", cpu=2),
}


@pytest.fixture
def bad(tmp_path: Path) -> AuditedMachine:
    return machine(tmp_path, _BAD)


@pytest.mark.parametrize("width", [60, 80, 100])
def test_lines_fit(bad: AuditedMachine, width: int) -> None:
    text = "\n".join(page.verbose_lines(run_checks(bad), bad, width=width))
    too_long = [line for line in text.splitlines() if len(line) > width]
    # A path in a command cannot be broken and still be pasted.
    assert [line for line in too_long if "/sys/" not in line and "/proc/" not in line] == []


@pytest.mark.parametrize("width", [60, 80, 200])
def test_without_details_each_check_is_one_line(bad: AuditedMachine, width: int) -> None:
    results = run_checks(bad)
    text = "\n".join(page.brief_lines(results, bad, width=width))
    assert max(map(len, text.splitlines())) <= width
    listed = [line.split()[:2] for line in text.split("\n\n")[1].splitlines()]
    assert listed == [[result.status.upper(), result.id] for result in results]
    assert "\x1b" not in text


def test_nothing_to_mend_is_a_verdict(tmp_path: Path) -> None:
    assert page.verdict(run_checks(machine(tmp_path))).startswith("PASS: 0 fail, 0 warn, 2 ")
    assert page.verdict(()).startswith("INCONCLUSIVE: ")


def test_nothing_reaches_the_terminal_unescaped(bad: AuditedMachine) -> None:
    text = "\n".join(page.verbose_lines(run_checks(bad), bad))
    assert "\\x1b" in text
    assert all(character.isprintable() or character == "\n" for character in text)


def test_cause_comes_first_then_evidence_then_remedy_then_undo(bad: AuditedMachine) -> None:
    lines = "\n".join(page.verbose_lines(run_checks(bad), bad)).splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("FAIL C02"))
    labels = [
        line.split()[0] for line in lines[start + 1 : lines.index("", start)] if line[10] != " "
    ]
    assert labels[labels.index("why") :] == ["why", "read", "expected", "fix", "undo", "note"]
    assert "The scheduler tick runs" in lines[start]


def test_the_first_line_counts_everything(bad: AuditedMachine) -> None:
    results = run_checks(bad)
    first = "\n".join(page.verbose_lines(results, bad)).splitlines()[0]
    verdict, totals = first.split(": ")
    assert verdict == "FAIL"
    assert "\n".join(page.brief_lines(results, bad)).splitlines()[0] == first
    numbers = [int(part.split()[0]) for part in totals.split(", ")]
    assert sum(numbers) == len(results) == 60
    assert numbers[0] == page.counts(results)[Status.FAIL]


def test_remedy_that_needs_a_reboot_says_so(bad: AuditedMachine) -> None:
    assert "takes effect after a reboot" in "\n".join(page.verbose_lines(run_checks(bad), bad))


@pytest.mark.parametrize("lines_of", [page.verbose_lines, page.brief_lines])
def test_only_the_status_is_coloured(
    bad: AuditedMachine, lines_of: Callable[..., list[str]]
) -> None:
    styles = {"FAIL": BAD, "WARN": DOUBTFUL, "PASS": GOOD, "SKIP": DETAIL}
    lines = lines_of(run_checks(bad), bad)
    seen = {line[one.start : one.end]: one for line in lines for one in spans_of(line)}
    assert seen["FAIL"] == Span(0, 4, BAD)
    for words, span in seen.items():
        assert span.style == styles.get(words, HEADING)


def test_all_watched_is_said_at_the_top(tmp_path: Path) -> None:
    seen = machine(tmp_path, cpus=(0, 1, 2, 3))
    head = "\n".join(page.verbose_lines(run_checks(seen), seen)).split("\n\n")[0]
    assert "noisetop check -c 1-3" in head


@pytest.mark.parametrize("width", [20, 40, 70])
def test_broken_command_is_the_same_command(width: int) -> None:
    command = "for i in 'a b' c d e f; do echo \"x  y\" > /sys/$i/mask; done"
    lines = page.wrap_command(command, width)
    assert shlex.split("\n".join(lines).replace("\\\n", " ")) == shlex.split(command)


def test_json_has_everything(bad: AuditedMachine) -> None:
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
