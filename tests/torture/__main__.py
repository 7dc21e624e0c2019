"""Starts noisetop again and again, alone and five at once, on a machine that is stirred, and ends
it by signals at random moments: ``make torture TIME=30m``.

Fails on a program or map left in the kernel, a process or file left behind, a recording that cannot
be read, a traceback, a hang, and a live view that grows. What was found is kept in build/torture.
"""

from __future__ import annotations

import argparse
import random
import shutil
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from noisetop.text.units import parse_duration
from tests.kernel.loads import workload
from tests.kernel.program import left_in_kernel
from tests.torture.disturbances import CPUS, LAST, Switch, all_disturbances
from tests.torture.sessions import RECORDINGS, Run, unreadable
from tests.torture.survivor import Survivor

FOLDER = Path("build/torture").absolute()
AT_ONCE = 5
_PATIENCE_S = 20
_TOLD_EVERY_S = 60


def say(line: str) -> None:
    """To the person at the terminal."""
    print(f"torture: {line}", file=sys.stderr, flush=True)


@dataclass(slots=True)
class Torture:
    """All rounds so far."""

    chance: random.Random
    counts: Counter[str] = field(default_factory=Counter)
    findings: list[str] = field(default_factory=list)

    def round(self, number: int) -> None:
        """Some runs under one disturbance; what is wrong is added to the findings."""
        folder = FOLDER / f"round-{number}"
        disturb = self.chance.choice(all_disturbances())
        count = AT_ONCE if self.chance.random() < 0.2 else 1
        out = folder / "0" / "out"
        out.mkdir(parents=True)
        # A load lives for some minutes only.
        with workload("timerfd", LAST, CPUS[0], 1000) as victim, ExitStack() as stack:
            runs = [Run.random(self.chance, folder / str(one), victim) for one in range(count)]
            stack.enter_context(disturb(self.chance, out))
            for run in runs:
                run.start()
                stack.callback(run.kill)  # Ctrl-C leaves none behind
            ended = [run.end() for run in runs]
        found = [f"{run}: {one}" for run, some in zip(runs, ended, strict=True) for one in some]
        found += [f"{run}: {one}" for run in runs for one in run.problems()]
        found += self.left_behind() + self.recordings_of(folder)
        self.counts["runs"] += len(runs)
        self.counts["signals"] += sum(run.signalled for run in runs)
        self.findings += [f"round {number}, {disturb.__name__}: {one}" for one in found]
        for one in found:
            say(f"round {number}, {disturb.__name__}: {one}")
        if not found:
            shutil.rmtree(folder)

    def recordings_of(self, folder: Path) -> list[str]:
        """What is wrong with them."""
        paths = [path for path in folder.rglob("*") if path.suffix in RECORDINGS]
        self.counts["recordings"] += len(paths)
        return [why for path in paths if (why := unreadable(path))]

    def left_behind(self) -> list[str]:
        """What stays in the kernel although nobody holds it any more."""
        end = time.monotonic() + _PATIENCE_S
        while left_in_kernel():
            if time.monotonic() > end:
                return ["programs or maps are left in the kernel"]
            time.sleep(0.05)
        return []

    def told(self) -> str:
        """The counts in a line."""
        counts = self.counts
        return (
            f"{counts['runs']} runs, {counts['signals']} signals, {Switch.toggles} hotplugs, "
            f"{counts['recordings']} recordings read, {len(self.findings)} findings"
        )


@contextmanager
def without_autogroups() -> Iterator[None]:
    """With them, Linux 6.18 starves all but one session of a CPU, for minutes, once hotplug has
    moved a task there that spins. It takes no noisetop for that, just some other load."""
    switch = Path("/proc/sys/kernel/sched_autogroup_enabled")
    before = switch.read_text() if switch.exists() else None
    try:
        if before is not None:
            switch.write_text("0")
        yield
    finally:
        if before is not None:
            switch.write_text(before)


def torture(seconds: float, seed: int) -> int:
    """The exit status."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    began = told = time.monotonic()
    survivor = Survivor(FOLDER)
    rounds = Torture(random.Random(seed))
    with without_autogroups(), survivor.started():
        number = 0
        while time.monotonic() - began < seconds:
            rounds.round(number)
            survivor.measure()
            number += 1
            if time.monotonic() - told > _TOLD_EVERY_S:
                told = time.monotonic()
                say(f"{round(told - began)} of {round(seconds)} s: {rounds.told()}")
        rounds.findings += survivor.end()
    rounds.findings += rounds.left_behind()
    memory, descriptors = survivor.memory_kib, survivor.descriptors
    say(f"the live view: {memory[0]} to {memory[-1]} KiB, {max(memory)} at most; ")
    say(f"descriptors {descriptors[0]} to {descriptors[-1]}, {max(descriptors)} at most")
    say(f"seed {seed}: {rounds.told()}")
    for finding in rounds.findings:
        print(finding)
    return 1 if rounds.findings else 0


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.torture", description=__doc__)
    parser.add_argument("--time", default="30m", help="default: 30m")
    parser.add_argument("--seed", type=int, help="default: another one each time")
    args = parser.parse_args()
    # A job in the background of a script, or of nohup, ignores these, and so would all that it
    # starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGQUIT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    seed = time.time_ns() % 2**32 if args.seed is None else args.seed
    return torture(parse_duration(args.time) / 1e9, seed)


if __name__ == "__main__":
    sys.exit(main())
