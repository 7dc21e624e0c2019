"""Every command that reads a file, on a mutant, in this process; and what is wrong with it."""

from __future__ import annotations

import io
import json
import shutil
import sys
import time
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from noisetop import cli
from noisetop.errors import NoisetopError
from noisetop.text.sanitize import printable

RECORDING_OUTPUTS = ("a.json", "a.json.gz", "a.folded", "a.svg", "a.noisetop")
RESULT_OUTPUTS = ("a.json", "a.svg", "a.timeline.svg", "a.latency.svg")
SLOW_S = 20.0
"""Longer than any of these small files may take."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A defect."""

    kind: str
    """``traceback``, ``slow``, ``escape`` or ``silent``."""
    where: str
    """The same for mutants that meet the same defect."""
    details: str


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command did."""

    argv: tuple[str, ...]
    status: int
    """-1: it failed as no command may."""
    out: str
    err: str
    finding: Finding | None = None


def run(*argv: str) -> Ran:
    """Runs a command as main() does. A warning is an error."""
    began = time.monotonic()
    with _captured() as streams:
        status, error, finding = 0, "", None
        try:
            status = cli.run(list(argv))
            sys.stdout.flush()
        except NoisetopError as told:
            status, error = told.exit_code, str(told)
        except SystemExit as ended:
            status = int(ended.code or 0)
        except Exception as failure:  # noqa: BLE001  the fuzzer looks for just these
            status = -1
            finding = Finding("traceback", _where(failure), traceback.format_exc())
        out, err = (stream.buffer.getvalue().decode(errors="replace") for stream in streams)
    if finding is None and time.monotonic() - began > SLOW_S:
        finding = Finding("slow", argv[0], f"{time.monotonic() - began:.0f} s")
    if finding is None:
        finding = _escape(argv, out + err + error)
    return Ran(argv, status, out, err + error, finding)


@contextmanager
def _captured() -> Iterator[tuple[Any, Any]]:
    """Streams that take what a terminal's do, and no more."""
    streams = tuple(io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in "oe")
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = streams
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            yield streams  # type: ignore[misc]
    finally:
        sys.stdout, sys.stderr = before


def _where(failure: Exception) -> str:
    """The line of ours that it came from."""
    frames = traceback.extract_tb(failure.__traceback__)
    ours = [frame for frame in frames if "/noisetop/" in frame.filename] or frames
    place = f"{ours[-1].filename.rpartition('/noisetop/')[2]}:{ours[-1].name}"
    return f"{type(failure).__name__} in {place}"


def _escape(argv: tuple[str, ...], text: str) -> Finding | None:
    """A character that a terminal would obey."""
    for line in text.split("\n"):
        if printable(line) != line and line not in argv:
            return Finding("escape", argv[0], repr(line[:300]))
    return None


def of_recording(path: Path, whole: Path, folder: Path, random: Random) -> Iterator[Ran]:
    """``path``: the mutant, ``whole``: a recording to compare it with."""
    output = folder / random.choice(RECORDING_OUTPUTS)
    yield run("report", "--json", str(path))
    choice = random.randrange(5)
    if choice == 0:
        yield run("report", "--no-pager", "--histogram", "t", str(path))
    elif choice == 1:
        yield run("diagnose", "--no-pager", *random.choice(((), ("--json",))), str(path))
    elif choice == 2:
        files = [str(path), str(whole)]
        random.shuffle(files)
        yield run("compare", "--no-pager", *random.choice(((), ("--json",))), *files)
    else:
        yield run("export", "--force", str(path), "-o", str(output))
        if output.exists() and output.name.endswith((".json", ".gz", ".noisetop")):
            yield run("report", "--json", str(output))


def of_result(path: Path, whole: Path, folder: Path, random: Random) -> Iterator[Ran]:
    """``whole``: the original."""
    yield run("report", "--json", str(path))
    choice = random.randrange(3)
    if choice == 0:
        yield run("report", "--no-pager", str(path))
    elif choice == 1:
        yield run("compare", "--no-pager", str(path), str(whole))
    else:
        output = folder / random.choice(RESULT_OUTPUTS)
        yield run("export", "--force", str(path), "-o", str(output))


def of_saved(path: Path, whole: Path, folder: Path, random: Random) -> Iterator[Ran]:
    """``whole``: a recording."""
    more = random.choice(((), ("--json",)))
    yield run("diagnose", "--no-pager", *more, str(whole), "--against", str(path))


def totals(ran: Ran) -> dict[str, Any] | None:
    """What ``report --json`` said; None: an error."""
    found: dict[str, Any] | None = json.loads(ran.out) if ran.status == 0 and ran.out else None
    return found


def clear(folder: Path) -> None:
    """Removes what exports have left."""
    for one in folder.iterdir():
        if one.is_dir():
            shutil.rmtree(one)
        else:
            one.unlink()
