"""Run time and count of BPF programs, from the kernel's own statistics."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from noisetop.errors import NoisetopError

SWITCH = Path("/proc/sys/kernel/bpf_stats_enabled")
_BPFTOOL = ("bpftool", "/usr/sbin/bpftool")


@dataclass(frozen=True, slots=True)
class ProgramRuns:
    """How often a program ran, and for how long in all."""

    runs: int
    run_ns: int

    def since(self, before: ProgramRuns) -> ProgramRuns:
        """What came in between."""
        return ProgramRuns(self.runs - before.runs, self.run_ns - before.run_ns)


@contextmanager
def bpf_stats() -> Iterator[None]:
    """Switches the statistics on and back to what they were."""
    before = SWITCH.read_text()
    SWITCH.write_text("1\n")
    try:
        yield
    finally:
        SWITCH.write_text(before)


def parse_fdinfo(text: str) -> tuple[int, ProgramRuns] | None:
    """Id and runs of the program that a file descriptor refers to; None for any other kind."""
    fields = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
    if "run_cnt" not in fields:
        return None
    runs = ProgramRuns(int(fields["run_cnt"]), int(fields["run_time_ns"]))
    return int(fields["prog_id"]), runs


def runs_of(pid: int) -> dict[int, ProgramRuns]:
    """All programs that a process holds, by id."""
    found = {}
    for path in Path(f"/proc/{pid}/fdinfo").iterdir():
        try:
            parsed = parse_fdinfo(path.read_text())
        except FileNotFoundError:  # closed since
            continue
        if parsed:
            found[parsed[0]] = parsed[1]
    return found


def parse_names(text: str) -> dict[int, str]:
    """Names by id, from ``bpftool --json prog show``."""
    return {program["id"]: program.get("name", "?") for program in json.loads(text)}


def program_names() -> dict[int, str]:
    """Names of all programs that are loaded, by id. Raises NoisetopError without bpftool."""
    for command in _BPFTOOL:
        try:
            shown = subprocess.run(
                [command, "--json", "prog", "show"], capture_output=True, check=True, timeout=30
            )
        except FileNotFoundError:
            continue
        except subprocess.SubprocessError as error:
            raise NoisetopError(f"bpftool failed: {error}") from error
        return parse_names(shown.stdout.decode())
    raise NoisetopError("bpftool is missing: apt install bpftool")
