"""A day of noisetop: memory, descriptors, threads, losses and the clock, minute by minute.

python -m bench.soak [--time 24h] [--output FILE]

The dashboard, the flight recorder with ``--worst`` and the exporter watch the last CPU together,
while tasks under ever new names take it. Every minute each of them is measured, and the recorder is
asked for a snapshot: its ``started`` and its first moment, which is CLOCK_MONOTONIC, say what
CLOCK_REALTIME was, and that is compared with what it is. Prints a line for each minute, how busy
the CPUs were, and a verdict for each limit; exits with 1 where one does not hold. With ``--output``
the same is written as Markdown.
"""

from __future__ import annotations

import argparse
import datetime
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from bench.exporter_load import (
    STORM,
    end_cleanly,
    load,
    lost_records,
    running_exporter,
    scrape,
    watched_and_other,
)
from bench.machine import describe_machine, machine_line
from bench.process import wait_until_said
from bench.tmux import Tmux, in_tmux
from bench.verdict import Limit, conclude
from noisetop.counters.losses import LOSSES
from noisetop.errors import NoisetopError
from noisetop.machine.stolen_time import cpu_ticks
from noisetop.recording.open import open_recording
from noisetop.summary.recorded import summary_of
from noisetop.text.units import parse_duration

_SIZE = 120, 40
_PATIENCE_S = 60
_POLL_S = 0.1
_MINUTE_S = 60.0
_FULL_AFTER = 12
"""Minutes until the dashboard has all the intervals that it keeps."""
_GROWTH = 1.05
"""Of the mean of the last third against that of the first one, once all is full."""
_DRIFT_MS = 2.0
"""A recording tells its start to a millisecond."""
_ASKED = "asked-*.noisetop"
"""Snapshots that were asked for; the worst moments stay."""
_LOST = re.compile(r"(?i)\blost ([\d.]+)([kMG]?)")
_FACTORS = {"": 1, "k": 1_000, "M": 1_000_000, "G": 1_000_000_000}
_IDLE, _IOWAIT, _GUEST = 3, 4, 8
"""Columns of /proc/stat; what guests take is a part of user and nice."""
Ticks = Mapping[int, Sequence[int]]
"""All columns by CPU."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One process at the end of a minute."""

    rss_mib: float
    descriptors: int
    threads: int
    lost: int


@dataclass(slots=True)
class Course:
    """Of one process, minute by minute."""

    name: str
    rows: list[Measured] = field(default_factory=list)

    def limits(self, full_after: int) -> Iterator[Limit]:
        """What has to hold from when all is full."""
        rows = self.rows[full_after:]
        third = max(len(rows) // 3, 1)
        for what in ("rss_mib", "descriptors", "threads"):
            values = [float(getattr(one, what)) for one in rows] or [float("nan")]
            growth = float(np.mean(values[-third:]) / np.mean(values[:third]))
            yield Limit(f"{self.name}: {what}, last third against the first", growth, _GROWTH)
        lost = float(self.rows[-1].lost) if self.rows else float("nan")
        yield Limit(f"{self.name}: records lost", lost, 0)


def measured(pid: int, lost: int) -> Measured:
    """A process as it is now. Raises NoisetopError when it is gone."""
    folder = Path(f"/proc/{pid}")
    try:
        status = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines())
        return Measured(
            int(status["VmRSS"].split()[0]) / 1024,
            sum(1 for _ in (folder / "fd").iterdir()),
            int(status["Threads"]),
            lost,
        )
    except (OSError, KeyError) as error:
        raise NoisetopError(f"PID {pid} is gone: look at what it said") from error


@dataclass(frozen=True, slots=True)
class Recorder:
    """The flight recorder, with a FIFO to ask it for snapshots."""

    process: subprocess.Popen[str]
    folder: Path
    control: Path

    def snapshot(self) -> Path:
        """A new file, once it is complete. Raises NoisetopError."""
        before = set(self.folder.glob(_ASKED))
        with self.control.open("w") as fifo:
            fifo.write("snapshot\n")
        end = time.monotonic() + _PATIENCE_S
        while not (fresh := set(self.folder.glob(_ASKED)) - before):
            if self.process.poll() is not None or time.monotonic() > end:
                raise NoisetopError("the recorder wrote no snapshot: look at what it said")
            time.sleep(_POLL_S)
        return max(fresh)

    def end(self) -> int:
        """Records lost in all. Raises NoisetopError where it does not end well."""
        self.process.send_signal(signal.SIGINT)
        _, said = self.process.communicate(timeout=_PATIENCE_S)
        dropped = re.search(r"(\d+) dropped", said)
        if self.process.returncode or dropped is None:
            raise NoisetopError(f"the recorder ended badly: {said.strip()}")
        return int(dropped[1])


@contextmanager
def running_recorder(cpu: int, folder: Path) -> Iterator[Recorder]:
    """It watches once the block begins. Raises NoisetopError."""
    control, output = folder / "control", folder / "worst"
    subprocess.run(["mkfifo", control], check=True)
    program = Path(sys.executable).with_name("noisetop")
    options = ("--worst", "10", "--keep", "10s,64M", "--control", f"fifo:{control}")
    command: list[str | Path] = [program, "record", "-c", str(cpu), *options, "-o", output]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        wait_until_said(process, "watching")
        yield Recorder(process, output, control)
    finally:
        process.kill()
        process.wait()


def clock_error_ms(snapshot: Path) -> tuple[float, int]:
    """By how much CLOCK_REALTIME differs from what the file says of it; records lost in the file,
    which is removed."""
    file = open_recording(snapshot)
    started = datetime.datetime.fromisoformat(file.metadata["started"])
    told_ns = started.timestamp() * 1e9 - file.start_ns
    is_ns = time.time_ns() - time.monotonic_ns()
    lost = summary_of(file).counters.of(LOSSES).total
    snapshot.unlink()
    return (told_ns - is_ns) / 1e6, lost


def lost_on(screen: str) -> int:
    """Records that the dashboard tells as lost, to three digits. Raises NoisetopError."""
    found = _LOST.search(screen)
    if found is None:
        raise NoisetopError(f"the dashboard tells no losses:\n{screen}")
    return int(float(found[1]) * _FACTORS[found[2]])


@dataclass(slots=True)
class Soak:
    """All that runs, and what was seen of it."""

    dashboard: Tmux
    recorder: Recorder
    exporter_pid: int
    courses: tuple[Course, Course, Course] = field(
        default_factory=lambda: (Course("dashboard"), Course("recorder"), Course("exporter"))
    )
    errors_ms: list[float] = field(default_factory=list)
    """Of the clock."""
    lost_in_snapshots: int = 0

    def look(self) -> None:
        """At the end of a minute."""
        error_ms, lost = clock_error_ms(self.recorder.snapshot())
        self.errors_ms.append(error_ms)
        self.lost_in_snapshots += lost
        screen, metrics = self.dashboard.screen(), scrape()
        for course, pid, lost in zip(
            self.courses,
            (self.dashboard.pid, self.recorder.process.pid, self.exporter_pid),
            (lost_on(screen), self.lost_in_snapshots, lost_records(metrics)),
            strict=True,
        ):
            course.rows.append(measured(pid, lost))

    def line(self) -> str:
        """What was seen last."""
        cells = [f"{len(self.errors_ms):6}"]
        for one in (course.rows[-1] for course in self.courses):
            cells.append(f"{one.rss_mib:7.1f} {one.descriptors:4} {one.threads:3} {one.lost:5}")
        return "  ".join((*cells, f"{self.errors_ms[-1]:+9.3f}"))

    def limits(self) -> list[Limit]:
        """Of the whole time."""
        found = [one for course in self.courses for one in course.limits(_FULL_AFTER)]
        drift_ms = max(self.errors_ms) - min(self.errors_ms)
        return [*found, Limit("drift of the clock", drift_ms, _DRIFT_MS, "ms")]


def busy_line(before: Ticks, after: Ticks) -> str:
    """What the CPUs did between two readings of /proc/stat, whoever kept them busy."""
    shares = []
    for cpu in sorted(before):
        ticks = np.subtract(after[cpu], before[cpu])[:_GUEST]
        busy = ticks.sum() - ticks[_IDLE] - ticks[_IOWAIT]
        shares.append(f"CPU {cpu} {busy / max(ticks.sum(), 1):.0%}")
    return f"busy: {', '.join(shares)}"


_HEAD = "minute  dashboard: MiB fds thr lost  recorder: same  exporter: same  clock error ms"


def soak(seconds: float, tell: list[str]) -> list[Limit]:
    """Runs so long; every line that is printed is added to ``tell``."""
    cpu, _ = watched_and_other()
    program = Path(sys.executable).with_name("noisetop")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        exporter_pid = stack.enter_context(running_exporter(cpu))
        recorder = stack.enter_context(running_recorder(cpu, folder))
        dashboard = stack.enter_context(in_tmux(folder, [program, "-c", str(cpu)], _SIZE))
        stack.enter_context(load(STORM, cpu))
        run = Soak(dashboard, recorder, exporter_pid)
        began, ticks = time.monotonic(), _cpu_ticks()
        _say(_HEAD, tell)
        for minute in range(1, int(seconds / _MINUTE_S) + 1):
            time.sleep(max(0.0, began + minute * _MINUTE_S - time.monotonic()))
            run.look()
            _say(run.line(), tell)
        _say(busy_line(ticks, _cpu_ticks()), tell)
        last = run.recorder.end()
        run.courses[1].rows.append(measured_end(run.courses[1].rows[-1], last))
    return run.limits()


def _cpu_ticks() -> Ticks:
    return cpu_ticks(Path("/proc/stat").read_text())


def measured_end(before: Measured, lost: int) -> Measured:
    """The last row again, with what was lost in all."""
    return Measured(before.rss_mib, before.descriptors, before.threads, lost)


def _say(line: str, tell: list[str]) -> None:
    tell.append(line)
    print(line, flush=True)


def report(lines: Sequence[str], limits: Sequence[Limit]) -> str:
    """As Markdown."""
    verdicts = "\n".join(f"- {one.line()}" for one in limits)
    table = "\n".join(f"    {line}" for line in lines)
    return (
        f"# A soak of {len(lines) - 2} minutes\n\n"
        f"{machine_line(describe_machine())} Written by `python -m bench.soak`.\n\n"
        f"{verdicts}\n\n{table}\n"
    )


def main() -> int:
    """0 where all limits hold."""
    parser = argparse.ArgumentParser(prog="python -m bench.soak")
    parser.add_argument("--time", default="24h", help="default: %(default)s")
    parser.add_argument("--output", type=Path, help="where to write it as Markdown")
    args = parser.parse_args()
    end_cleanly()
    lines: list[str] = []
    limits = soak(parse_duration(args.time) / 1e9, lines)
    if args.output is not None:
        args.output.write_text(report(lines, limits))
    return conclude(limits)


if __name__ == "__main__":
    sys.exit(main())
