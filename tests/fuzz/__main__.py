"""Mutants of every file that noisetop reads, through every command that reads one, until the time
is over: ``make fuzz TIME=60s``.

Fails on a traceback, a hang, a crash, a report of a sanitizer, an escape sequence, a warning, and
on a damaged file whose totals differ without a word. What was found is kept in build/fuzz.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from noisetop.text.units import parse_duration
from tests.fuzz import sanitized
from tests.fuzz.mutant import mutant
from tests.fuzz.originals import originals
from tests.fuzz.worker import MEMORY_STATUS, note_start, read_progress

FOLDER = Path("build/fuzz")
_SHOWN = 40


@dataclass(slots=True)
class Worker:
    """A process that is started again after what ended it."""

    folder: Path
    first: int
    step: int
    tables: Path
    scratch: Path
    end: float
    commands: int = 0
    refused: int = 0
    findings: list[dict[str, Any]] = field(default_factory=list)
    process: subprocess.Popen[bytes] = field(init=False)

    def start(self, first: int) -> None:
        """Tries mutants from this number on."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.scratch.mkdir(exist_ok=True)
        note_start(self.folder, first)
        seconds = max(self.end - time.monotonic(), 0)
        arguments = (self.folder, self.scratch, first, self.step, seconds, self.tables)
        with (self.folder / "stderr").open("w") as stderr:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.fuzz.worker", *map(str, arguments)],
                env=sanitized.environment(),
                stderr=stderr,
            )

    def wait(self) -> int:
        """Until the time is over; how many mutants were tried."""
        number = self.first
        while True:
            status = self.process.wait()
            number, commands, refused = read_progress(self.folder)
            self.commands += commands
            self.refused += refused
            if not status:
                break
            self.findings.append(self._ended(number, status))
            number += self.step
            if time.monotonic() >= self.end:
                break
            self.start(number)
        self.findings += map(json.loads, (self.folder / "findings").read_text().splitlines())
        return (number - self.first) // self.step

    def _ended(self, number: int, status: int) -> dict[str, Any]:
        details = (self.folder / "stderr").read_text()
        is_hang = status == -signal.SIGPROF or "Timeout (" in details
        kind = "memory" if status == MEMORY_STATUS else "hang" if is_hang else "crash"
        words = ("ERROR: ", "runtime error", "Error: ")
        lines = [line for line in details.splitlines() if any(word in line for word in words)]
        where = lines[0] if lines else f"status {status}"
        return {"number": number, "kind": kind, "where": where, "details": details}


def fuzz(seconds: float, first: int, jobs: int) -> int:
    """Prints what was found; the exit status."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    tables = sanitized.build(FOLDER.resolve())
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="noisetop-fuzz.", dir=_memory()) as scratch:
        workers = [
            Worker(
                FOLDER / str(i), first + i, jobs, tables, Path(scratch) / str(i), began + seconds
            )
            for i in range(jobs)
        ]
        for worker in workers:
            worker.start(worker.first)
        count = sum(worker.wait() for worker in workers)
    rate = count / (time.monotonic() - began)
    findings = [one for worker in workers for one in worker.findings]
    _show(findings)
    refused = sum(worker.refused for worker in workers)
    commands = sum(worker.commands for worker in workers)
    print(
        f"{count} mutants from {first} on, {refused} of them refused by their reader, "
        f"{commands} commands, {rate:.0f} mutants a second, {count / _used_s():.0f} per second of "
        f"CPU time: {len(findings)} findings"
    )
    return 1 if findings else 0


def _used_s() -> float:
    """CPU time of the workers, and of the compiler."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _memory() -> Path | None:
    """Where files are cheap; None: where temporary files are."""
    memory = Path("/dev/shm")
    return memory if os.access(memory, os.W_OK) else None


def _show(findings: list[dict[str, Any]]) -> None:
    kinds = Counter((one["kind"], one["where"]) for one in findings)
    examples = {(one["kind"], one["where"]): one for one in reversed(findings)}
    files = originals()
    for (kind, where), count in kinds.most_common(_SHOWN):
        one = examples[kind, where]
        kept = FOLDER / f"{kind}-{one['number']}"
        kept.write_bytes(mutant(one["number"], files).content)
        print(f"{count:6} {kind}: {where}")
        print(f"       {kept} of {mutant(one['number'], files).original.name}")
        print("       " + one["details"].strip().replace("\n", "\n       ")[-1500:])


def main() -> int:
    """Parses the command line."""
    parser = argparse.ArgumentParser(prog="make fuzz", description=__doc__)
    parser.add_argument("--time", default="60s", help="as in 60s, 10m, 1h; default: %(default)s")
    parser.add_argument("--first", type=int, default=time.time_ns() // 1000, help="first mutant")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    args = parser.parse_args()
    return fuzz(parse_duration(args.time) / 1e9, args.first, args.jobs)


if __name__ == "__main__":
    sys.exit(main())
