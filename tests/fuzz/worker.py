"""One process of the fuzzer: mutants one after another, each noted before it is tried.

    python -m tests.fuzz.worker FOLDER FIRST STEP SECONDS [TABLES]

FOLDER/current holds the number of the mutant in work, FOLDER/findings a line of JSON for each
finding. TABLES: an extension to load in place of noisetop._tables.
"""

from __future__ import annotations

import faulthandler
import importlib.machinery
import importlib.util
import json
import os
import resource
import sys
import time
from dataclasses import asdict
from pathlib import Path

HANG_S = 60.0
_MAX_MEMORY_KIB = 2 << 20


def load_tables(library: Path) -> None:
    """Takes the place of the extension that is installed."""
    name = "noisetop._tables"
    loader = importlib.machinery.ExtensionFileLoader(name, str(library))
    spec = importlib.util.spec_from_file_location(name, library, loader=loader)
    assert spec
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    sys.modules[name] = module


def work(folder: Path, first: int, step: int, seconds: float) -> None:
    """Until the time is over, or memory is used up."""
    from tests.fuzz.mutant import Judge, mutant
    from tests.fuzz.originals import originals

    end = time.monotonic() + seconds
    files = originals()
    judge = Judge(files, folder)
    number = first
    with (folder / "findings").open("a") as findings:
        while time.monotonic() < end:
            (folder / "current").write_text(f"{number} {judge.count}")
            faulthandler.dump_traceback_later(HANG_S, exit=True)
            for finding in judge.findings(mutant(number, files)):
                print(json.dumps({"number": number, **asdict(finding)}), file=findings, flush=True)
            faulthandler.cancel_dump_traceback_later()
            if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > _MAX_MEMORY_KIB:
                os._exit(2)
            number += step
    (folder / "current").write_text(f"{number} {judge.count}")


def main() -> None:
    """See above."""
    folder, first, step, seconds, *tables = sys.argv[1:]
    if tables:
        load_tables(Path(tables[0]))
    work(Path(folder), int(first), int(step), float(seconds))


if __name__ == "__main__":
    main()
