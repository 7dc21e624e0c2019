"""What the page prints can be pasted into a shell whatever tasks are called: no name runs."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from noisetop.diagnosis import Diagnosis, all_rules, diagnose, page
from noisetop.diagnosis.details import command
from noisetop.diagnosis.evidence import Evidence, Realtime, Share
from noisetop.diagnosis.finding import Rule
from noisetop.events.trigger import Trigger
from tests.checks.trees import machine, task
from tests.diagnosis.cases import CASES, share
from tests.diagnosis.test_rules import evidence

EVIL = (
    "$(touch x)",
    "'; reboot'",
    'a"; reboot;"',
    "\nreboot\n",
    "-x reboot",
    # What the same quotes are for.
    *(
        pytest.param(name, marks=pytest.mark.thorough)
        for name in ("`touch x`", "x; if reboot", "reboot", "a|reboot", "reboot, reboot", "# touch")
    ),
)
TYPED = {
    "bpftool",
    "cat",
    "chrt",
    "grep",
    "kill",
    "ls",
    "pgrep",
    "ps",
    "strace",
    "sysctl",
    "taskset",
}
LABELS = ("remedy", "undo", "or", "to confirm")


@pytest.fixture
def shell(tmp_path: Path) -> Path:
    """A folder for PATH: all programs only say that they ran; so does reboot."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in (*TYPED, "touch", "reboot"):
        program = folder / name
        program.write_text('#!/bin/sh\necho "${0##*/}" >> "$LOG"\n')
        program.chmod(0o755)
    return folder


def pasted(text: str, programs: Path) -> set[str]:
    """Programs that run when a text is pasted; it finds no others, and writes to no file."""
    folder = programs.parent / "empty"
    folder.mkdir(exist_ok=True)
    log = programs.parent / "log"
    log.unlink(missing_ok=True)
    subprocess.run(
        ["/bin/sh", "-c", re.sub(r"> /(proc|sys)/\S+", "> /dev/null", text)],
        cwd=folder,
        env={"PATH": str(programs), "LOG": str(log)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
        timeout=20,
    )
    assert list(folder.iterdir()) == [], text
    return set(log.read_text().split()) if log.exists() else set()


def printed(diagnosis: Diagnosis) -> Iterator[str]:
    """What the page has behind the labels of commands, in the lines in which it has them."""
    label, lines = "", list[str]()
    for line in [*page.page_lines(diagnosis, verbose=True, top=1000), "    end         "]:
        found = re.match(r" {4}(.{12})(.*)", line)
        if found is None or found[1].strip():
            if label in LABELS:
                yield "\n".join(lines)
            label, lines = (found[1].strip(), []) if found else ("", [])
        if found is not None:
            lines.append(found[2])


def named(name: str) -> tuple[Share, ...]:
    """Noise of, and caused by, tasks of that name, in all ways that are known."""
    caused = [
        replace(case.share, trigger=Trigger(name, 50, 0, case.share.trigger.context))
        for case in CASES
        if not case.share.trigger.task or case.share.trigger.task == "app"
    ]
    ran = share("thread", name)
    return (
        *caused,
        ran,
        replace(ran, urgent=True, max_ns=9_000_000),
        share("thread", "self", name),
    )


def cases(tmp_path: Path, name: str) -> Iterator[Evidence]:
    general = evidence(*named(name), realtime=Realtime())
    yield general
    yield replace(general, realtime=Realtime(frozenset({name})))
    flat = name.replace("\n", "")
    known = machine(tmp_path, task(50, flat, "0-3") | task(51, flat, "2", pid=50))
    yield replace(general, machine=known)


@pytest.mark.parametrize("name", EVIL)
def test_a_name_in_a_command_that_is_pasted_runs_nothing(
    name: str, tmp_path: Path, shell: Path
) -> None:
    seen: set[str] = set()
    for known in cases(tmp_path / "root", name):
        diagnosis = diagnose(known)
        texts = [
            text
            for one in diagnosis.findings
            for text in (one.remedy, one.undo, one.otherwise, one.confirm)
        ]
        told = [one for one in (*texts, *printed(diagnosis)) if re.search("touch|reboot", one)]
        assert len(told) > 10
        for text in set(told) - seen:
            assert pasted(text, shell) <= TYPED, text
        seen.update(told)


def test_a_shell_does_run_what_is_not_quoted(shell: Path) -> None:
    assert pasted("taskset -pc 0 $(touch x)", shell) == {"taskset", "touch"}
    assert pasted("for t in $(pgrep --\nreboot); do taskset $t; done", shell) >= {"reboot"}


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.name)
def test_a_text_with_a_name_is_broken_like_a_command(rule: Rule) -> None:
    """Prose is broken where a shell sees the end of a command."""
    for text in (rule.remedy, rule.undo, rule.otherwise, rule.confirm):
        assert "{about}" not in text
        if re.search(r"\{(q|e|command|function)\}", text):
            lines = command(re.sub(r"\{\w+\}", "'x; if y, of the'", text), 20)
            assert all(line.endswith(" \\") for line in lines[:-1]), text
