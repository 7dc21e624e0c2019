"""Which capabilities a run keeps, by what it does later and what that takes here."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from noisetop.tracing import later_steps
from noisetop.tracing.capabilities import (
    AUDIT,
    FILES,
    NAMES,
    NONE,
    SIGNALS,
    STACKS,
    Capability,
)
from noisetop.tracing.later_steps import LaterSteps, Obstacles, kept_capabilities

DOCUMENT = Path(__file__).parents[2] / "docs/privileges.md"
HERE = (Path("/x"),)
NOTHING = LaterSteps(tasks=False, names=False)
READ, PTRACE = Capability.DAC_READ_SEARCH, Capability.SYS_PTRACE
EVERYTHING = LaterSteps(stacks=True, audit=True, signals=True, folders=HERE)
HARD = Obstacles(maps=True, hidden_tasks=True, private_program=True, folders=True)


@pytest.mark.parametrize(
    ("steps", "obstacles", "kept"),
    [
        (NOTHING, Obstacles(), NONE),
        (replace(NOTHING, folders=HERE), Obstacles(), NONE),
        (NOTHING, Obstacles(folders=True, hidden_tasks=True), NONE),
        (replace(NOTHING, folders=HERE), Obstacles(folders=True), FILES),
        (replace(NOTHING, tasks=True), Obstacles(hidden_tasks=True), PTRACE),
        (replace(NOTHING, signals=True), Obstacles(), SIGNALS),
        (replace(NOTHING, stacks=True), Obstacles(), STACKS),
        (replace(NOTHING, audit=True), Obstacles(), AUDIT),
        (LaterSteps(), Obstacles(), READ),
        (LaterSteps(), Obstacles(hidden_tasks=True), NAMES),
    ],
)
def test_what_is_kept(steps: LaterSteps, obstacles: Obstacles, kept: Capability) -> None:
    assert kept_capabilities(steps, obstacles) == (kept, NONE)


def test_what_is_taken_all_the_time_stays_in_effect() -> None:
    always = Capability.BPF | READ
    assert kept_capabilities(NOTHING, HARD) == (always, always)
    assert kept_capabilities(NOTHING, Obstacles(maps=True)) == (Capability.BPF,) * 2
    kept, effective = kept_capabilities(EVERYTHING, HARD)
    assert (kept, effective) == (always | FILES | SIGNALS | STACKS | AUDIT, always)


def test_no_run_keeps_what_loads_programs() -> None:
    kept, _ = kept_capabilities(EVERYTHING, replace(HARD, maps=False))
    assert not kept & (Capability.BPF | Capability.PERFMON | Capability.SYS_ADMIN)


@pytest.mark.parametrize(("given", "kept"), [("BPF", "BPF"), ("SYS_ADMIN", "SYS_ADMIN")])
def test_sys_admin_stands_for_bpf_where_that_was_not_given(
    given: str, kept: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    has, told = Capability[given], list[Capability]()
    monkeypatch.setattr(later_steps, "permitted", lambda: has)
    monkeypatch.setattr(later_steps, "_obstacles", lambda _: Obstacles(maps=True))
    monkeypatch.setattr(
        later_steps, "drop_capabilities", lambda *sets: told.extend(one & has for one in sets)
    )
    later_steps.give_up_capabilities(NOTHING)
    assert told == [Capability[kept]] * 2


@pytest.mark.skipif(os.geteuid() != 0, reason="gives folders away")
def test_what_takes_a_capability_is_found_by_trying(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SUDO_UID", raising=False)
    folder = tmp_path / "of another"
    folder.mkdir(mode=0o700)
    steps = replace(NOTHING, folders=(tmp_path, folder, tmp_path / "none"))
    found = later_steps._obstacles(steps)
    assert (found.folders, found.private_program) == (False, False)
    os.chown(folder, 65534, 65534)
    assert later_steps._obstacles(steps).folders
    monkeypatch.setattr(sys, "path", ["", str(folder)])
    assert later_steps._obstacles(NOTHING) == replace(found, private_program=True)
    monkeypatch.setenv("SUDO_UID", "65534")
    assert later_steps._obstacles(replace(steps, folders=(tmp_path,))).folders


def test_the_document_has_every_step() -> None:
    rows = re.findall(r"(?m)^\| .*? \| (.*?) \| .*? \| .*? \|$", DOCUMENT.read_text())
    told = [set(re.findall(r"`CAP_(\w+)`", row)) - {"SYS_ADMIN"} for row in rows]
    for step in (FILES, SIGNALS, STACKS, AUDIT, READ, PTRACE, Capability.BPF):
        assert {one.name for one in step} in told, step
