"""perf record of the same tracepoints, with its default buffers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from bench.process import ToolProcess, running, write_gate
from bench.tools import Seen, Session, Setting, Tool
from bench.tracepoints import sampled

_CAPTURED = re.compile(r"Captured and wrote .*?\((\d+) samples\)")
_LOST_SHARE = re.compile(r"Processed (\d+) samples and lost ([\d.]+)%")
_LOST = re.compile(r"lost (\d+) (?:chunks|events|samples)", re.IGNORECASE)
OUTPUT = "perf.data"
"""Its file, in the folder of the setting."""


def parse_perf(text: str) -> Seen:
    """What perf record says at its end. Raises ValueError when it says nothing of samples.

    Of small losses it only counts the chunks.
    """
    captured = _CAPTURED.search(text)
    if not captured:
        raise ValueError("perf record did not say how many samples it captured")
    share = _LOST_SHARE.search(text)
    lost = round(int(share[1]) * float(share[2]) / 100) if share else 0
    return Seen(int(captured[1]), max(lost, sum(map(int, _LOST.findall(text)))))


@dataclass(slots=True)
class PerfSession:
    """perf at work."""

    process: ToolProcess
    written_bytes: int | None = None

    def seen(self) -> Seen:
        """By its closing lines."""
        return replace(parse_perf(self.process.said()), written_bytes=self.written_bytes)


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
        output = setting.folder / OUTPUT
        script, opened = write_gate(setting.folder)
        argv = ["perf", "record", "-C", setting.cpu_list, "-o", str(output)]
        if setting.buffer_kib:
            argv += ["-m", f"{setting.buffer_kib}K"]
        for tracepoint in sampled(setting.tracepoints):
            argv += ["-e", str(tracepoint)]
        argv += ["--", "/bin/sh", str(script)]
        with running(argv, setting.housekeeping, setting.folder, "perf") as process:
            process.wait_until(opened.exists)
            session = PerfSession(process)
            yield session
        session.written_bytes = output.stat().st_size
        if not setting.keep:
            output.unlink()


TOOLS: tuple[Tool, ...] = (PerfRecord(),)
