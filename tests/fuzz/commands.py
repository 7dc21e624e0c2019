"""Every command that reads a file, on a mutant, in this process; and what is wrong with it."""

from __future__ import annotations

import io
import json
import re
import shutil
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from noisetop import cli
from noisetop.errors import NoisetopError
from noisetop.text.sanitize import printable

RECORDING_OUTPUTS = ("a.json", "a.json.gz", "a.folded", "a.svg", "a.csv", "a.noisetop")
RESULT_OUTPUTS = ("a.json", "a.svg", "a.timeline.svg", "a.latency.svg")
SLOW_S = 20.0
"""CPU time; longer than any of these small files may take."""
_PLAIN = re.compile(r"[ -~\n]*")


@dataclass(frozen=True, slots=True)
class Finding:
    """A defect."""

    kind: str
    """``traceback``, ``slow``, ``escape``, ``silent``, ``export`` or ``words``."""
    where: str
    """The same for mutants that meet the same defect."""
    details: str


@dataclass(frozen=True, slots=True)
class Call:
    """A command line."""

    argv: tuple[str, ...]
    output: Path | None = None
    """What it writes."""


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command did."""

    argv: tuple[str, ...]
    status: int
    """-1: there is a finding."""
    out: str
    err: str
    finding: Finding | None = None


def run(*argv: str) -> Ran:
    """Runs a command as main() does. A warning is an error."""
    with _captured() as streams:
        status, error = 0, ""

        def command() -> None:
            nonlocal status, error
            try:
                status = cli.run(list(argv))
                sys.stdout.flush()
            except NoisetopError as told:
                status, error = told.exit_code, str(told)
            except SystemExit as ended:
                status = int(ended.code or 0)

        finding = watched(command, argv[0])
        out, err = (stream.buffer.getvalue().decode(errors="replace") for stream in streams)
    if finding is None:
        finding = _escape(argv, out + err + error)
    return Ran(argv, -1 if finding else status, out, err + error, finding)


def watched(call: Callable[[], None], what: str) -> Finding | None:
    """Calls; a failure and what takes too long are findings."""
    began = time.process_time()
    try:
        call()
    except Exception as failure:  # noqa: BLE001  the fuzzer looks for just these
        return Finding("traceback", _where(failure), traceback.format_exc())
    seconds = time.process_time() - began
    return Finding("slow", what, f"{seconds:.0f} s") if seconds > SLOW_S else None


@contextmanager
def _captured() -> Iterator[tuple[Any, Any]]:
    """Streams that take what a terminal's do, and no more."""
    streams = tuple(io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in "oe")
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = streams
    try:
        with strict():
            yield streams  # type: ignore[misc]
    finally:
        sys.stdout, sys.stderr = before


@contextmanager
def strict() -> Iterator[None]:
    """A warning is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def _where(failure: Exception) -> str:
    """The line of ours that it came from."""
    frames = traceback.extract_tb(failure.__traceback__)
    ours = [frame for frame in frames if "/noisetop/" in frame.filename] or frames
    place = f"{ours[-1].filename.rpartition('/noisetop/')[2]}:{ours[-1].name}"
    return f"{type(failure).__name__} in {place}"


def _escape(argv: tuple[str, ...], text: str) -> Finding | None:
    """A character that a terminal would obey."""
    if _PLAIN.fullmatch(text):
        return None
    for line in text.split("\n"):
        if printable(line) != line and line not in argv:
            return Finding("escape", argv[0], repr(line[:300]))
    return None


def of_recording(path: Path, whole: Path, folder: Path, random: Random) -> list[Call]:
    """Every call on a recording. ``path``: the mutant, ``whole``: what to compare it with."""
    output = folder / random.choice(RECORDING_OUTPUTS)
    files = random.sample([str(path), str(whole)], 2)
    as_json = random.choice(((), ("--json",)))
    since = random.choice(("0", "1ms", "40ms"))
    return [
        Call(("report", "--json", str(path))),
        Call(("report", "--no-pager", "--histogram", "t", "-v", str(path))),
        Call(("report", "--markdown", "--from", since, "--to", "50ms", str(path))),
        Call(("diagnose", "--no-pager", *as_json, str(path))),
        Call(("compare", "--no-pager", *as_json, *files)),
        Call(("export", "--force", str(path), "-o", str(output)), output),
    ]


def of_result(path: Path, whole: Path, folder: Path, random: Random) -> list[Call]:
    """``whole``: the original."""
    output = folder / random.choice(RESULT_OUTPUTS)
    return [
        Call(("report", "--json", str(path))),
        Call(("report", "--no-pager", str(path))),
        Call(("compare", "--no-pager", str(path), str(whole))),
        Call(("export", "--force", str(path), "-o", str(output)), output),
    ]


def of_saved(path: Path, whole: Path, folder: Path, random: Random) -> list[Call]:
    """``whole``: a recording."""
    as_json = random.choice(((), ("--json",)))
    return [Call(("diagnose", "--no-pager", *as_json, str(whole), "--against", str(path)))]


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
