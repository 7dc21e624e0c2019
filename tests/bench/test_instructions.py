"""Instructions that are added to events, from what made-up guests counted."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest

from bench import emulation
from bench.emulation import NOTHING, SOURCE, Counted, Traced, parse, script
from bench.parts import Part, obstacle_of
from bench.parts.instructions import PART, result_of, traced
from bench.parts.program_sets import LOCAL
from bench.tools import Tool
from bench.tools.noisetop import OTHER, RECORD, Record
from tests.bench.made import FakeTool
from tests.guests import machine
from tests.guests.packages import UnavailableError

TOLD = "timer 1020.00 1020.00 1593.24\nipi 1496.36 1496.36 1496.36\n"


def counted(**added: float) -> Counted:
    """One batch in three holds a tick."""

    def guest(more: float) -> dict[str, list[float]]:
        return {"timer": [1000 + more] * 2 + [2000 + 3 * more], "ipi": [1500 + more] * 3}

    names = {"ours": RECORD, "other": OTHER, "local": LOCAL}
    found = {names[name]: guest(more) for name, more in added.items()}
    return Counted("7.3-1", {NOTHING: guest(0), **found})


class TestFigures:
    def test_what_events_wrote(self) -> None:
        assert parse(TOLD) == {"timer": [1020, 1020, 1593.24], "ipi": [1496.36] * 3}

    def test_a_tick_in_a_batch_changes_nothing(self) -> None:
        result = result_of(counted(ours=500, local=300))
        assert result.ratios["instructions/timer/noisetop record : nothing"].value == 0.5
        assert result.ratios["instructions/ipi/noisetop record : nothing"].high == pytest.approx(
            1 / 3
        )
        (table,) = result.tables
        assert table.columns[1:] == ("instructions without it", RECORD, LOCAL)
        assert [row[1:] for row in table.rows] == [("1000", "500", "300"), ("1500", "500", "300")]
        assert "7.3-1" in table.note

    def test_another_checkout_is_compared_by_what_it_adds(self) -> None:
        ratios = result_of(counted(ours=600, other=500)).ratios
        assert ratios[f"instructions/timer/{RECORD} : {OTHER}"].value == pytest.approx(1.2)
        assert not [name for name in result_of(counted(ours=600)).ratios if OTHER in name]


class TestGuest:
    def test_recordings_are_started_with_their_options(self, tmp_path: Path) -> None:
        other = Record(OTHER, command=("/elsewhere/noisetop",))
        tools = [Record(LOCAL, options=("--local",)), cast(Tool, FakeTool("perf record")), other]
        local, there = traced(tools, tmp_path)
        assert local.name == LOCAL
        assert "--local" in local.command
        assert there.command[:4] == ("/elsewhere/noisetop", "record", "-c", "1")

    def test_the_script_counts_while_a_tracer_runs(self, tmp_path: Path) -> None:
        """Run here, with a program that only says in which order things happen."""
        program = tmp_path / "events"
        program.write_text('#!/bin/sh\n[ -e running ] && echo "ipi 2" || echo "ipi 1"\n')
        program.chmod(0o755)
        tracer = tmp_path / "tracer"
        tracer.write_text(
            "#!/bin/sh\ntrap 'rm running; exit 0' TERM\n: >running; echo ready\n"
            "while :; do sleep 0.01; done\n"
        )
        tracer.chmod(0o755)
        one = Traced("A tool", (str(tracer),), "ready")
        told = script(tmp_path, program, [one])
        subprocess.run(["sh", "-c", told], check=True, timeout=60)
        assert (tmp_path / NOTHING).read_text() == "ipi 1\n"
        assert (tmp_path / one.file).read_text() == "ipi 2\n"
        assert (tmp_path / "ended").exists()
        assert not (tmp_path / "running").exists()

    def test_a_tracer_that_does_not_start_ends_it(self, tmp_path: Path) -> None:
        told = script(tmp_path, Path("/bin/true"), [Traced("a", ("false",), "ready")])
        assert subprocess.run(["sh", "-c", told], check=False, timeout=60).returncode == 1
        assert not (tmp_path / "ended").exists()

    def test_the_program_compiles_without_a_warning(self, tmp_path: Path) -> None:
        warnings = ("-Wall", "-Wextra", "-Werror")
        command = ["cc", "-O2", *warnings, "-pthread", "-o", str(tmp_path / "a"), str(SOURCE)]
        subprocess.run(command, check=True, timeout=60)

    def test_a_folder_stays_where_something_went_wrong(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(emulation, "FOLDERS", tmp_path / "bench")
        with emulation.new_folder() as gone:
            pass
        assert not gone.exists()
        with pytest.raises(KeyError), emulation.new_folder() as kept:
            raise KeyError
        assert kept.exists()


@dataclass(frozen=True, slots=True)
class NeedsRoot:
    number: int = 1
    name: str = "a"
    needs_root: bool = True


class TestObstacles:
    def test_a_part_says_what_it_lacks(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse() -> None:
            raise UnavailableError("qemu-system-x86_64 is not installed: make test-guests")

        monkeypatch.setattr(machine, "check_tools", refuse)
        assert "not installed: make test-guests" in obstacle_of(PART, is_root=True)
        monkeypatch.setattr(machine, "check_tools", lambda: None)
        assert not obstacle_of(PART, is_root=False)

    def test_a_part_that_traces_needs_root(self) -> None:
        part: Part = NeedsRoot()
        assert "sudo" in obstacle_of(part, is_root=False)
        assert not obstacle_of(part, is_root=True)
