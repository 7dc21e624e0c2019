"""One process of the fuzzer: mutants one after another, each noted before it is tried.

    python -m tests.fuzz.worker FOLDER SCRATCH FIRST STEP SECONDS [TABLES]

FOLDER/current holds a Progress, FOLDER/findings a line of JSON for each finding. The mutants are
written into SCRATCH. TABLES: an extension to load in place of noisetop._tables.
"""

from __future__ import annotations

import faulthandler
import importlib.machinery
import importlib.util
import json
import mmap
import os
import resource
import signal
import struct
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

HANG_S = 60
"""CPU time of one mutant. A process may be stopped for long, so that clocks tell nothing."""
_WAITS_FOREVER_S = 1200.0
_MAX_MEMORY_KIB = 2 << 20
_PROGRESS = struct.Struct("=QQQ")
MEMORY_STATUS = 2
_MOST_FINDINGS = 20
"""Of one kind, in full; then only their number is kept."""


class Progress(NamedTuple):
    """How far a worker is."""

    number: int
    """Of the mutant in work, or of the next one."""
    commands: int
    refused: int


def read_progress(folder: Path) -> Progress:
    """What a worker noted last."""
    return Progress(*_PROGRESS.unpack((folder / "current").read_bytes()))


def note_start(folder: Path, first: int) -> None:
    """Nothing was tried yet."""
    (folder / "current").write_bytes(_PROGRESS.pack(first, 0, 0))


def load_tables(library: Path) -> None:
    """Takes the place of the extension that is installed."""
    name = "noisetop._tables"
    loader = importlib.machinery.ExtensionFileLoader(name, str(library))
    spec = importlib.util.spec_from_file_location(name, library, loader=loader)
    assert spec
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    sys.modules[name] = module


def work(folder: Path, scratch: Path, first: int, step: int, seconds: float) -> None:
    """Until the time is over, or memory is used up."""
    from tests.fuzz.mutant import Judge, mutant
    from tests.fuzz.once import do_once
    from tests.fuzz.originals import originals

    end = time.monotonic() + seconds
    files = originals()
    judge = Judge(files, scratch)
    do_once()
    seen: dict[tuple[str, str], int] = {}
    watch = Watch()
    number = first
    with (folder / "findings").open("a") as findings, (folder / "current").open("r+b") as file:
        # A page that is shared outlives a crash, and takes no system call for each mutant.
        progress = mmap.mmap(file.fileno(), _PROGRESS.size)
        while (now := time.monotonic()) < end:
            _PROGRESS.pack_into(progress, 0, number, judge.count, judge.refused)
            watch.renew(now)
            for finding in judge.findings(mutant(number, files)):
                key = finding.kind, finding.where
                seen[key] = seen.get(key, 0) + 1
                kept = asdict(finding) if seen[key] <= _MOST_FINDINGS else _named(*key)
                print(json.dumps({"number": number, **kept}), file=findings, flush=True)
            if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > _MAX_MEMORY_KIB:
                os._exit(MEMORY_STATUS)
            number += step
        _PROGRESS.pack_into(progress, 0, number, judge.count, judge.refused)


def _named(kind: str, where: str) -> dict[str, str]:
    return {"kind": kind, "where": where, "details": ""}


class Watch:
    """Ends this process with a traceback where a mutant takes too long."""

    def __init__(self) -> None:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        faulthandler.register(signal.SIGPROF, chain=True)
        self._next = 0.0

    def renew(self, now: float) -> None:
        """Called before each mutant; costs a system call once a second."""
        if now < self._next:
            return
        self._next = now + 1
        # From now on: RLIMIT_CPU counts ticks, which are no CPU time to add to.
        signal.setitimer(signal.ITIMER_PROF, HANG_S)
        faulthandler.dump_traceback_later(_WAITS_FOREVER_S, exit=True)


def main() -> None:
    """See above."""
    folder, scratch, first, step, seconds, *tables = sys.argv[1:]
    if tables:
        load_tables(Path(tables[0]))
    work(Path(folder), Path(scratch), int(first), int(step), float(seconds))


if __name__ == "__main__":
    main()
