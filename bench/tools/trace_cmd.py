"""trace-cmd record of the same tracepoints, in a trace instance of its own."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench.process import ToolProcess, running
from bench.tools import Seen, Session, Setting, Tool
from bench.tracepoints import TRACEFS

_COUNTER = re.compile(r"^([a-z ]+): (\d+)$", re.MULTILINE)
OUTPUT = "trace.dat"
"""Its file, in the folder of the setting."""


def parse_ring_stats(text: str) -> Seen:
    """A CPU's ``stats`` file: what was read or is still in the ring, and what was overwritten."""
    counters = {name: int(count) for name, count in _COUNTER.findall(text)}
    lost = counters["overrun"] + counters["commit overrun"] + counters["dropped events"]
    return Seen(counters["entries"] + counters["read events"], lost)


@dataclass(slots=True)
class TraceCmdSession:
    """trace-cmd at work."""

    process: ToolProcess
    counted: list[Seen] = field(default_factory=list)
    """By CPU."""
    written_bytes: int | None = None

    def seen(self) -> Seen:
        """By the counters of the kernel's rings."""
        return Seen(
            sum(seen.events for seen in self.counted),
            sum(seen.lost or 0 for seen in self.counted),
            self.written_bytes,
        )


@dataclass(frozen=True, slots=True)
class TraceCmd:
    """``trace-cmd record -M MASK -e …``."""

    name: str = "trace-cmd record"
    program: str = "trace-cmd"
    install: str = "apt install trace-cmd"
    blind_to: frozenset[str] = frozenset()
    per_interruption: float = 4.0

    @contextmanager
    def run(self, setting: Setting) -> Iterator[Session]:
        """Nobody else's trace is touched; the instance is removed in the end."""
        output = setting.folder / OUTPUT
        instance = TRACEFS / "instances" / f"noisetop-bench-{os.getpid()}"
        # -d, --no-filter: the function tracer is not used, so leave its switches alone.
        # -k: the counters are read after the end.
        argv = ["trace-cmd", "record", "-d", "--no-filter", "-k", "-o", str(output)]
        argv += ["-B", instance.name, "-M", f"{sum(1 << cpu for cpu in setting.recorded):x}"]
        if setting.buffer_kib:
            argv += ["-b", str(setting.buffer_kib)]
        for tracepoint in setting.tracepoints:
            argv += ["-e", str(tracepoint)]
        try:
            with running(argv, setting.housekeeping, setting.folder, "trace-cmd") as process:
                process.wait_until(lambda: _is_on(instance, setting))
                session = TraceCmdSession(process)
                yield session
            for cpu in setting.recorded:
                stats = instance / f"per_cpu/cpu{cpu}/stats"
                session.counted.append(parse_ring_stats(stats.read_text()))
            session.written_bytes = output.stat().st_size
        finally:
            if instance.exists():
                instance.rmdir()
            if not setting.keep:
                output.unlink(missing_ok=True)


def _is_on(instance: Path, setting: Setting) -> bool:
    """Whether all events are enabled and the ring takes them; it is off while they are set up."""
    if not (instance / "tracing_on").exists():
        return False
    files = [instance / f"events/{t.system}/{t.name}/enable" for t in setting.tracepoints]
    return all(path.read_text()[0] == "1" for path in (*files, instance / "tracing_on"))


TOOLS: tuple[Tool, ...] = (TraceCmd(),)
