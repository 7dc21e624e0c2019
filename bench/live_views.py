"""Live views under short tasks with ever new names: memory, CPU time and whether samples are on
time.

python -m bench.live_views [--minutes 10] [--rate 500]

The dashboard, in tmux, and then ``--json`` watch the last CPU so long, while tasks are started on
it at that rate a second. Prints a line for each minute and a verdict for each limit; exits with 1
where one does not hold.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from bench.exporter_load import end_cleanly, load, watched_and_other
from bench.process import cpu_s, rss_kib
from bench.tmux import in_tmux
from bench.verdict import Limit, conclude

_SIZE = 120, 40
_MINUTE_S = 60.0
_MOST_MIB, _MOST_GROWTH, _MOST_CPU = 150.0, 1.1, 8.0
_LATE = 0.1
"""Of a sample's second, that it may be longer or shorter."""
_TASKS = """
import ctypes, itertools, os, time
prctl = ctypes.CDLL(None).prctl
letters = str.maketrans("0123456789", "abcdefghij")
due = time.monotonic()
for number in itertools.count():
    if not os.fork():
        prctl(15, ("s-%d" % number).translate(letters).encode())
        os._exit(0)
    os.wait()
    if os.getppid() == 1:
        break
    due += 1 / RATE
    time.sleep(max(0, due - time.monotonic()))
"""


@dataclass(slots=True)
class View:
    """A process that shows samples, as it was at the end of each minute."""

    name: str
    pid: int
    rss_mib: list[float] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)
    """So far."""

    def look(self) -> None:
        """At the end of a minute."""
        self.rss_mib.append(rss_kib(self.pid) / 1024)
        self.cpu_s.append(cpu_s(Path(f"/proc/{self.pid}")))

    @property
    def cpu_percent(self) -> float:
        """Of a CPU, since the end of the first minute."""
        return 100 * (self.cpu_s[-1] - self.cpu_s[0]) / (_MINUTE_S * (len(self.cpu_s) - 1))

    def limits(self) -> Iterator[Limit]:
        """What has to hold after the first minute."""
        growth = max(self.rss_mib) / self.rss_mib[0]
        yield Limit(f"{self.name}: memory against that after a minute", growth, _MOST_GROWTH)
        yield Limit(f"{self.name}: memory", max(self.rss_mib), _MOST_MIB, "MiB")
        yield Limit(f"{self.name}: of a CPU", self.cpu_percent, _MOST_CPU, "%")


@contextmanager
def _samples(cpu: int, output: IO[str]) -> Iterator[int]:
    """``--json`` into a file; its PID."""
    program = Path(sys.executable).with_name("noisetop")
    process = subprocess.Popen([program, "-c", str(cpu), "--json", "1s"], stdout=output)
    try:
        yield process.pid
    finally:
        process.terminate()
        process.wait()


def _late(samples: Path) -> tuple[int, int]:
    """Samples that are longer or shorter than a second, and all of them but the first and last."""
    lines = samples.read_text().splitlines()[1:-1]
    lasted = [json.loads(line)["duration_ns"] / 1e9 for line in lines]
    return sum(abs(one - 1) > _LATE for one in lasted), len(lasted)


def _watch(view: View, minutes: int) -> None:
    """Prints a line for each minute."""
    began, forked = time.monotonic(), _forks()
    print(f"minute  {view.name}: MiB, CPU s  tasks started a second", flush=True)
    for minute in range(1, minutes + 1):
        time.sleep(max(0.0, began + minute * _MINUTE_S - time.monotonic()))
        view.look()
        pace = (_forks() - forked) / (time.monotonic() - began)
        print(f"{minute:6}  {view.rss_mib[-1]:7.1f} {view.cpu_s[-1]:7.1f}  {pace:6.0f}", flush=True)


def _run(minutes: int, rate: int) -> list[Limit]:
    """One view after the other: each is a tracer of its own."""
    program, (cpu, _) = Path(sys.executable).with_name("noisetop"), watched_and_other()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        stack.enter_context(load(_TASKS.replace("RATE", str(rate)), cpu))
        with in_tmux(folder, [program, "-c", str(cpu)], _SIZE) as tmux:
            dashboard = View("dashboard", tmux.pid)
            _watch(dashboard, minutes)
            print(tmux.screen())
        samples = folder / "samples.jsonl"
        with samples.open("w") as output, _samples(cpu, output) as pid:
            text = View("--json", pid)
            _watch(text, minutes)
        late, count = _late(samples)
    limits = [*dashboard.limits(), *text.limits()]
    return [*limits, Limit(f"samples of {count} that are not on time", late, 0)]


def _forks() -> int:
    """Tasks that were started on this machine."""
    return int(re.findall(r"processes (\d+)", Path("/proc/stat").read_text())[0])


def main() -> int:
    """0 where all limits hold."""
    parser = argparse.ArgumentParser(prog="python -m bench.live_views")
    parser.add_argument("--minutes", type=int, default=10)
    parser.add_argument("--rate", type=int, default=500, help="tasks a second")
    args = parser.parse_args()
    if args.minutes < 2 or args.rate < 1:
        parser.error("give at least two minutes and one task a second")
    end_cleanly()
    return conclude(_run(args.minutes, args.rate))


if __name__ == "__main__":
    sys.exit(main())
