"""What the flight recorder costs beside a recording to a file, and whether its memory grows.

python -m bench.flight_recorder_cost [--seconds 600] [--rate 200000] [--recorder worst]

A flood makes so many records a second on two CPUs together. In turns: a recording to a file; the
recorder with ``--keep 5s,64M`` and a trigger that never fires; again to a file; the recorder with
``--worst 3``; again to a file. CPU time and memory are those of the noisetop process from when its
window is full; the thread that writes files of moments is told apart, as nobody writes any beside a
recording to a file. Prints them, what was lost, and a verdict for each; exits with 1 where one does
not hold.
"""

from __future__ import annotations

import argparse
import contextlib
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.c_program import compiled
from bench.parts.capacity import SOURCE
from bench.process import cpu_s, rss_kib, wait_until_said
from noisetop.errors import NoisetopError
from noisetop.flight_recorder.writer import NAME as WRITER
from noisetop.machine.system import online_cpus

_CLOSING = re.compile(r"([\d.]+)([kMG]?) events in .*?, (\d+) dropped")
_FACTOR = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9}
KEEP = "5s,64M"
_FULL_S = 20
"""After which the window is full, and what a start takes is over."""
_EVERY_S = 2.0
_FILE_S = 60
"""Of a recording to a file, which takes 13 MB a second."""
_NEVER_US = "60000000"
_END_S = 120
CPU_LIMIT, MEMORY_LIMIT = 1.1, 0.05
RECORDERS = {
    "trigger": ("--keep", KEEP, "-s", _NEVER_US),
    "worst": ("--keep", KEEP, "--worst", "3"),
}
"""Options by what looks for moments."""


@dataclass(frozen=True, slots=True)
class Run:
    """Of one noisetop process, since its window was full."""

    cpu_share: float
    """CPU time per second, of all threads but the one below, in seconds."""
    writer_s: float
    """CPU time of the thread that writes files, of the whole run."""
    rss_kib: tuple[int, ...]
    """Resident memory, every two seconds."""
    events_per_s: float
    """Of the whole run."""
    lost: int

    @property
    def growth(self) -> float:
        """Largest over smallest, minus one."""
        return max(self.rss_kib) / min(self.rss_kib) - 1

    @property
    def drift(self) -> float:
        """Median of the last quarter over that of the first, minus one."""
        quarter = max(len(self.rss_kib) // 4, 1)
        first, last = self.rss_kib[:quarter], self.rss_kib[-quarter:]
        return float(np.median(last) / np.median(first)) - 1


def writer_s(pid: int) -> float:
    """CPU time of the thread that writes files so far."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(cpu_s(one) for one in tasks if (one / "comm").read_text().strip() == WRITER)


@contextlib.contextmanager
def flooded(binary: Path, per_second: int, cpus: tuple[int, int]) -> Iterator[None]:
    """A thread on each CPU that gives way to everybody; it ends with the block."""
    lifetime_ms = 24 * 3600 * 1000
    argv = [binary, per_second // len(cpus), lifetime_ms, 1, *cpus]
    process = subprocess.Popen(["nice", "-n", "19", *map(str, argv)])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def measured(options: Sequence[str | Path], cpus: tuple[int, int], seconds: float) -> Run:
    """Runs noisetop for so long after its window is full."""
    program = Path(sys.executable).with_name("noisetop")
    watched = ",".join(map(str, cpus))
    command = [program, "record", "-c", watched, "-H", str(cpus[0]), *options]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        wait_until_said(process, "Ctrl-C")
        time.sleep(_FULL_S)
        pid, folder = process.pid, Path(f"/proc/{process.pid}")
        started, before_s, memory = time.monotonic(), cpu_s(folder) - writer_s(pid), [rss_kib(pid)]
        while time.monotonic() < started + seconds:
            time.sleep(_EVERY_S)
            memory.append(rss_kib(pid))
        writing_s = writer_s(pid)
        share = (cpu_s(folder) - writing_s - before_s) / (time.monotonic() - started)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=_END_S)
    finally:
        process.kill()
        process.wait()
    closing = _CLOSING.search(said)
    if closing is None:
        raise NoisetopError(f"noisetop ended with {process.returncode}: {said.strip()}")
    events = float(closing[1]) * _FACTOR[closing[2]]
    return Run(share, writing_s, tuple(memory), events / (seconds + _FULL_S), int(closing[3]))


def to_file(folder: Path, cpus: tuple[int, int]) -> Run:
    """A recording to a file, which is removed again."""
    output = folder / "all.noisetop"
    run = measured(["-o", output, "--force"], cpus, _FILE_S)
    output.unlink()
    return run


def told(name: str, run: Run) -> None:
    """A line on a run."""
    print(
        f"{name}: {run.cpu_share * 100:.2f}% of a CPU, {run.events_per_s / 1e3:.0f} thousand "
        f"events a second, {run.lost} lost and told, {min(run.rss_kib) / 1024:.1f} to "
        f"{max(run.rss_kib) / 1024:.1f} MiB resident, drift {run.drift:+.1%}; files of moments "
        f"took {run.writer_s:.1f} s of CPU time in all",
        flush=True,
    )


def verdicts(name: str, run: Run, file_share: float) -> Iterator[tuple[bool, str]]:
    """Whether each limit holds, in words."""
    ratio = run.cpu_share / file_share
    yield ratio <= CPU_LIMIT, f"{name}: {ratio:.2f} times the CPU time of a file, limit {CPU_LIMIT}"
    yield (
        run.growth <= MEMORY_LIMIT,
        f"{name}: memory within {run.growth:.1%} once the window is full, limit {MEMORY_LIMIT:.0%}",
    )


def compare(recorders: Sequence[str], seconds: float, per_second: int) -> int:
    """All runs and the verdicts; the exit status."""
    online = online_cpus()
    cpus = online[0], online[-1]
    files: list[Run] = []
    kept: dict[str, Run] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with flooded(compiled(SOURCE, folder), per_second, cpus):
            for given in (RECORDERS[one] for one in recorders):
                files.append(to_file(folder, cpus))
                told("to a file", files[-1])
                options = " ".join(given)
                output = folder / ("worst" if "--worst" in given else "never.noisetop")
                kept[options] = measured([*given, "-o", output], cpus, seconds)
                told(options, kept[options])
            files.append(to_file(folder, cpus))
            told("to a file", files[-1])
    file_share = float(np.median([run.cpu_share for run in files]))
    found = [pair for name, run in kept.items() for pair in verdicts(name, run, file_share)]
    for holds, words in found:
        print(f"{'held' if holds else 'NOT HELD'}: {words}")
    return int(not all(holds for holds, _ in found))


def main(argv: Sequence[str] | None = None) -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench.flight_recorder_cost")
    parser.add_argument("--seconds", type=float, default=600, help="default: %(default)s")
    parser.add_argument(
        "--rate", type=int, default=200_000, help="on both CPUs; default: %(default)s"
    )
    parser.add_argument(
        "--recorder", choices=list(RECORDERS), action="append", help="default: each of them"
    )
    args = parser.parse_args(argv)
    try:
        return compare(args.recorder or list(RECORDERS), args.seconds, args.rate)
    except NoisetopError as error:
        print(f"bench: {error}", file=sys.stderr)
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
