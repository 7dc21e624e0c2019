"""CPU time that the dashboard takes on a terminal, fed with made-up samples.

    python bench/dashboard_cost.py --cpus 2 --sources 40 --seconds 30

Prints the share of one CPU over ``--seconds``, the bytes written to the terminal per second, and
the time from the start of the process to the first frame. With ``--show`` it runs on this terminal
instead, for people to look at.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import pty
import random
import select
import signal
import struct
import sys
import termios
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from noisetop.event import Source
from noisetop.histogram import BUCKETS, bucket_of
from noisetop.live import Sample
from noisetop.summary import CpuSummary, Losses, OwnCost, SourceSummary, Summary

_START_NS = 1_000_000_000_000
_CLASSES = ("timer", "softirq", "thread", "irq", "ipi", "nmi")
_CYCLE = 20


class MadeUpFeed:
    """Every source of every CPU changes with each sample. Samples are made before the start."""

    def __init__(self, cpus: int, sources: int, interval_ns: int) -> None:
        self.title = f"CPUs 0-{cpus - 1}"
        self.interval_ns = interval_ns
        self._random = random.Random(1)
        self._histogram = np.bincount(
            bucket_of(np.array([900, 1_100, 1_300, 5_000], np.uint64)), minlength=BUCKETS
        ).astype(np.int64)
        self._intervals = [self._interval(cpus, sources) for _ in range(_CYCLE)]
        self._totals = [self._total(self._intervals[: end + 1]) for end in range(_CYCLE)]
        self._at = 0
        self._woken = threading.Event()

    def _source(self, number: int) -> SourceSummary:
        name = _CLASSES[number % len(_CLASSES)]
        count = self._random.randrange(1, 2_000)
        return SourceSummary(
            Source((name, f"origin_{number % 7}", f"some_kernel_function_{number}")),
            count,
            count * self._random.randrange(500, 3_000),
            self._random.randrange(5_000, 90_000),
            _START_NS + self._random.randrange(self.interval_ns),
            count // 3,
            count * 100,
            self._histogram,
        )

    def _interval(self, cpus: int, sources: int) -> Summary:
        rows = []
        for number in range(cpus):
            parts = tuple(self._source(one) for one in range(sources))
            noise_ns = sum(one.net_ns for one in parts)
            rows.append(CpuSummary(number, noise_ns, noise_ns // 9, 90_000, _START_NS, parts))
        cost = OwnCost(9_000_000, 40, 110.0, 20_000, "0")
        return Summary(
            _START_NS, _START_NS + self.interval_ns, tuple(rows), Losses(), cost, ("thermal",)
        )

    def _total(self, intervals: list[Summary]) -> Summary:
        cpus = []
        for same in zip(*(one.cpus for one in intervals), strict=True):
            sources = tuple(
                replace(
                    parts[0],
                    count=sum(one.count for one in parts),
                    net_ns=sum(one.net_ns for one in parts),
                    max_ns=max(one.max_ns for one in parts),
                )
                for parts in zip(*(one.sources for one in same), strict=True)
            )
            noise_ns = sum(one.net_ns for one in sources)
            cpus.append(replace(same[0], noise_ns=noise_ns, sources=sources))
        end_ns = _START_NS + len(intervals) * self.interval_ns
        return replace(intervals[0], end_ns=end_ns, cpus=tuple(cpus))

    def next(self) -> Sample:
        self._woken.wait(self.interval_ns / 1e9)
        self._woken.clear()
        self._at = (self._at + 1) % _CYCLE
        return Sample(self._totals[self._at], self._intervals[self._at])

    def reset(self) -> None:
        self._at = 0

    def wake(self) -> None:
        self._woken.set()


def _spawn(args: argparse.Namespace) -> tuple[int, int]:
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update(TERM="xterm-256color", COLORTERM="truecolor")
        os.execv(sys.executable, [sys.executable, __file__, "--show", *sys.argv[1:]])
    size = struct.pack("HHHH", args.lines, args.columns, 0, 0)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, size)
    return pid, terminal


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _switches(pid: int) -> int:
    total = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        lines = (task / "status").read_text().splitlines()
        total += sum(int(line.split()[1]) for line in lines if line.startswith("voluntary_ctxt"))
    return total


def _drain(terminal: int, seconds: float, until: bytes = b"") -> bytes:
    """What was written to the terminal within a time, or up to some text."""
    seen = b""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0 and not (until and until in seen):
        if select.select([terminal], [], [], left)[0]:
            seen += os.read(terminal, 65536)
    return seen


def _measure(args: argparse.Namespace) -> None:
    begun = time.monotonic()
    pid, terminal = _spawn(args)
    _drain(terminal, 60, until=b"waiting for the first")
    first_frame_s = time.monotonic() - begun
    _drain(terminal, 3 * args.interval + 1)
    before = _cpu_s(pid), _switches(pid), time.monotonic()
    written = len(_drain(terminal, args.seconds))
    took_s = time.monotonic() - before[2]
    share = (_cpu_s(pid) - before[0]) / took_s
    wakeups = (_switches(pid) - before[1]) / took_s
    os.kill(pid, signal.SIGTERM)
    _drain(terminal, 1, until=b"\x1b[?1049l")
    os.waitpid(pid, 0)
    print(
        f"{args.cpus} CPUs x {args.sources} sources, {args.columns}x{args.lines}:"
        f" {100 * share:.2f} % of one CPU over {took_s:.0f} s, {wakeups:.0f} wake-ups/s,"
        f" {written / took_s / 1000:.1f} kB/s to the terminal,"
        f" frame after {first_frame_s:.2f} s (making the samples included)"
    )


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cpus", type=int, default=2)
    parser.add_argument("--sources", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--interval", type=float, default=1.0)
    parser.add_argument("--columns", type=int, default=200)
    parser.add_argument("--lines", type=int, default=50)
    parser.add_argument("--show", action="store_true", help="run on this terminal instead")
    args = parser.parse_args()
    if not args.show:
        _measure(args)
        return
    from noisetop.tui.app import run_dashboard

    run_dashboard(MadeUpFeed(args.cpus, args.sources, int(args.interval * 1e9)))


if __name__ == "__main__":
    main()
