"""noisetop itself: recording, and live."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from bench.process import LIFETIME_S, ToolProcess, running
from bench.tools import Seen, Session, Setting, Tool
from bench.tracepoints import BPF_SOURCES
from noisetop.errors import UsageError

_CLOSING = re.compile(r"([\d.]+)([kMG]?) events in .*?, (\d+) (?:dropped|lost)")  # lost: before 0.3
RECORD = "noisetop record"
OTHER = "other checkout"
"""What the tables call another version of noisetop."""
_FACTOR = {"": 1, "k": 1_000, "M": 1_000_000, "G": 1_000_000_000}


def parse_closing(text: str) -> Seen:
    """The last line of ``noisetop record``. Raises ValueError when it is not there."""
    match = _CLOSING.search(text)
    if not match:
        raise ValueError("noisetop record did not print its closing line")
    return Seen(round(float(match[1]) * _FACTOR[match[2]]), int(match[3]))


def parse_samples(lines: str) -> Seen:
    """Sum over the lines of ``noisetop top --json``."""
    samples = [json.loads(line) for line in lines.splitlines()]
    events = sum(cpu["count"] for sample in samples for cpu in sample["cpus"].values())
    lost = sum(sample["lost"] for sample in samples)
    return Seen(events, lost)


@dataclass(slots=True)
class RecordSession:
    """A recording under way."""

    process: ToolProcess
    written_bytes: int | None = None

    def seen(self) -> Seen:
        """By its closing line."""
        seen = parse_closing(self.process.stderr.read_text())
        return replace(seen, written_bytes=self.written_bytes)


@dataclass(frozen=True, slots=True)
class Record:
    """``noisetop record``."""

    name: str = RECORD
    program: str = sys.executable
    install: str = "pip install -e ."
    blind_to: frozenset[str] = frozenset()
    per_interruption: float = 2.0  # the vector and the function, or the timer and its callback
    command: tuple[str, ...] = (sys.executable, "-m", "noisetop")
    options: tuple[str, ...] = ()
    target: tuple[str, ...] = ()
    """What to watch, as options; by default what the setting says."""
    headers: Path = BPF_SOURCES
    """Folder of the headers that its programs are built with."""

    @contextmanager
    def run(self, setting: Setting) -> Iterator[Session]:
        """Into a file of the spool format, which is written while it runs."""
        output = setting.folder / "noise.noisetop"
        argv = [*self.command, "record", *(self.target or ("-c", setting.cpu_list)), *self.options]
        argv += ["-d", f"{LIFETIME_S}s", "-o", str(output), "--force"]
        if setting.buffer_kib:
            argv += ["--ring-size", str(setting.buffer_kib)]
        with running(argv, setting.housekeeping, setting.folder, "record") as process:
            process.wait_until(lambda: "recording" in process.stderr.read_text())
            session = RecordSession(process)
            yield session
        session.written_bytes = output.stat().st_size
        output.unlink()


def other_checkout(folder: Path) -> Record:
    """``noisetop record`` of another checkout. Raises UsageError when it is not built."""
    program = folder / ".venv" / "bin" / "noisetop"
    if not os.access(program, os.X_OK):
        raise UsageError(f"{program} is missing: run make build in {folder}")
    command = (str(program),)
    return Record(OTHER, str(program), "make build", command=command, headers=folder / "bpf")


def commit_of(folder: Path) -> str:
    """The commit that a checkout is at, with its subject; its path where git does not tell."""
    command = ["git", "-C", str(folder), "log", "-1", "--format=%h, %s"]
    try:
        told = subprocess.run(command, capture_output=True, text=True, check=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return str(folder)
    return told.stdout.strip()


@dataclass(slots=True)
class LiveSession:
    """The live view under way."""

    process: ToolProcess

    def seen(self) -> Seen:
        """By the samples that it printed."""
        return parse_samples(self.process.stdout.read_text())


@dataclass(frozen=True, slots=True)
class Live:
    """``noisetop top --json``."""

    name: str = "noisetop top"
    program: str = sys.executable
    install: str = "pip install -e ."
    blind_to: frozenset[str] = frozenset()
    per_interruption: float = 2.0

    @contextmanager
    def run(self, setting: Setting) -> Iterator[Session]:
        """A sample per second."""
        argv = [sys.executable, "-m", "noisetop", "top", "--json", "-c", str(setting.cpu)]
        argv += ["-d", f"{LIFETIME_S}s"]
        with running(argv, setting.housekeeping, setting.folder, "top") as process:
            process.wait_until(lambda: process.stdout.stat().st_size > 0)
            yield LiveSession(process)


WITH_STACKS: Tool = Record("noisetop record --stacks", options=("--stacks",))
TOOLS: tuple[Tool, ...] = (Record(), Live())
