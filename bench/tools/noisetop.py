"""noisetop itself: recording, and live."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from bench.process import LIFETIME_S, ToolProcess, running
from bench.tools import Seen, Session, Setting, Tool

_CLOSING = re.compile(r"([\d.]+)([kMG]?) events in .*?, (\d+) lost")
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

    def seen(self) -> Seen:
        """By its closing line."""
        return parse_closing(self.process.stderr.read_text())


@dataclass(frozen=True, slots=True)
class Record:
    """``noisetop record``."""

    name: str = "noisetop record"
    program: str = sys.executable
    install: str = "pip install -e ."
    blind_to: frozenset[str] = frozenset()
    per_interruption: float = 2.0  # the vector and the function, or the timer and its callback

    @contextmanager
    def run(self, setting: Setting) -> Iterator[Session]:
        """Into a file of the spool format, which is written while it runs."""
        output = setting.folder / "noise.noisetop"
        argv = [sys.executable, "-m", "noisetop", "record", "-c", str(setting.cpu)]
        argv += ["-d", f"{LIFETIME_S}s", "-o", str(output), "--force"]
        with running(argv, setting.housekeeping, setting.folder, "record") as process:
            process.wait_until(lambda: "recording" in process.stderr.read_text())
            yield RecordSession(process)
        output.unlink(missing_ok=True)


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


TOOLS: tuple[Tool, ...] = (Record(), Live())
