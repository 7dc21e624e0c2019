"""perf record of the same tracepoints, with its default buffers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from bench.process import ToolProcess, running, write_gate
from bench.tools import Seen, Session, Setting, Tool
from bench.tracepoints import sampled

_CAPTURED = re.compile(r"Captured and wrote .*?\((\d+) samples\)")
_LOST = re.compile(r"lost (\d+) (?:chunks|events|samples)", re.IGNORECASE)


def parse_perf(text: str) -> Seen:
    """What perf record says at its end. Raises ValueError when it says nothing of samples.

    It counts what it lost in chunks, so ``lost`` only tells whether anything was.
    """
    captured = _CAPTURED.search(text)
    if not captured:
        raise ValueError("perf record did not say how many samples it captured")
    return Seen(int(captured[1]), sum(int(count) for count in _LOST.findall(text)))


@dataclass(slots=True)
class PerfSession:
    """perf at work."""

    process: ToolProcess

    def seen(self) -> Seen:
        """By its closing lines."""
        return parse_perf(self.process.said())


@dataclass(frozen=True, slots=True)
class PerfRecord:
    """``perf record -C CPU -e …``."""

    name: str = "perf record"
    program: str = "perf"
    install: str = "apt install linux-perf"
    blind_to: frozenset[str] = frozenset()
    per_interruption: float = 4.0  # two entries and two exits

    @contextmanager
    def run(self, setting: Setting) -> Iterator[Session]:
        """perf starts its command, the gate, once all events count."""
        output = setting.folder / "perf.data"
        script, opened = write_gate(setting.folder)
        argv = ["perf", "record", "-C", str(setting.cpu), "-o", str(output)]
        for tracepoint in sampled(setting.tracepoints):
            argv += ["-e", str(tracepoint)]
        argv += ["--", "/bin/sh", str(script)]
        with running(argv, setting.housekeeping, setting.folder, "perf") as process:
            process.wait_until(opened.exists)
            yield PerfSession(process)
        output.unlink(missing_ok=True)


TOOLS: tuple[Tool, ...] = (PerfRecord(),)
