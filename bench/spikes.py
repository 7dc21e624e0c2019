"""Whether the flight recorder catches a spike that comes at a moment nobody knows.

python -m bench.spikes [--runs 20] [--seconds 60] [--kind fifo]

Each run records with ``--worst 3`` beside a victim under a steady load; once something takes the
victim's CPU: a real-time task, a burst of IPIs from the other CPU, or timers that expire at once.
The first file of the folder has to be about that, name who did it, hold what was asked for before
and after it, and tell what was lost. Where something else took more meanwhile, that is worse: the
spike comes behind it then, or within seconds of it in its file, and the line of the run says so. A
burst of IPIs is many short intervals: its cost is worst in ``--worst-by interval --period 10ms``,
with a calibration made at the start.

A host may also hide the switch to the real-time task from every tracepoint, so ftrace is asked as
well. Where it does not tell of that switch either, a run that missed it is repeated and counted.
Exits with 1 where a run failed, or where as many were repeated as were asked for.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from bench.c_program import compiled
from bench.process import wait_until_said
from bench.switch_witness import witness_of
from noisetop.counters.losses import LOSSES
from noisetop.errors import NoisetopError
from noisetop.machine.system import online_cpus
from noisetop.recording.moment import moment_of
from noisetop.recording.open import open_recording
from noisetop.recording.recording import Recording
from noisetop.summary.recorded import summary_of

SOURCE = Path(__file__).with_suffix(".c")
KEEP_NS, AFTER_NS = 5_000_000_000, 1_000_000_000
LEAST_S = 12
"""Of a run: what comes before a spike, after it, and some choice in between."""
_MARGIN_S = 2.0
_TIMEOUT_S = 60
_SWITCH_NS = 1_000_000
"""A real-time task looks at the clock sooner than that after it was switched to."""
_STATE = "XDG_STATE_HOME"
_STEADY_HOLE_NS = 100_000_000
"""The steady load is in the file all the time, but for naps of the victim and the spike itself."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One way to take time from the victim."""

    name: str
    amount: int
    """Microseconds, or timers."""
    noise_class: str
    options: tuple[str, ...]
    """What a user orders by who looks for such a thing."""
    least_ns: int
    """Of what is taken, at least."""
    function: str = ""
    """Of each event that has to be in the file; empty: they are not counted."""
    is_switch: bool = False
    """Whether it is a task that is switched to."""

    @property
    def culprit(self) -> str:
        """Name of the task."""
        return f"spike-{self.name}"


KINDS = (
    Kind("fifo", 3_000, "thread", ("single",), 1_500_000, is_switch=True),
    Kind("ipi", 20_000, "ipi", ("interval", "--period", "10ms"), 100_000),
    Kind("timers", 15_000, "timer", ("single",), 1_000_000, "posix_timer_fn"),
)


@dataclass(frozen=True, slots=True)
class Strike:
    """What the actor says of what it did."""

    start_ns: int
    end_ns: int
    count: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """Of a run, in words."""

    wrong: tuple[str, ...] = ()
    longer: tuple[str, ...] = ()
    """What comes before the spike, as it took longer."""
    hidden: bool = False
    """Whether the kernel's own trace does not tell of the spike either."""

    @property
    def counts(self) -> bool:
        """Whether it says something about the recorder."""
        return not (self.wrong and self.hidden)

    @property
    def words(self) -> str:
        """For a line."""
        if not self.counts:
            return "repeated: ftrace has no switch to the spike either"
        behind = f", behind {' and '.join(self.longer)}" if self.longer else ""
        return "; ".join(self.wrong) or f"caught{behind}"


@contextlib.contextmanager
def actor(binary: Path, kind: str, *numbers: int) -> Iterator[subprocess.Popen[str]]:
    """One that is ready: nothing of its start is part of what it does."""
    process = subprocess.Popen(
        [binary, kind, *map(str, numbers)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout
    try:
        if process.stdout.readline() != "ready\n":
            raise NoisetopError(f"the {kind} of the bench did not start: run it as root")
        yield process
    finally:
        process.kill()
        process.communicate()


def strike(process: subprocess.Popen[str]) -> Strike:
    """Has it act."""
    assert process.stdin
    assert process.stdout
    process.stdin.write("\n")
    process.stdin.flush()
    return Strike(*map(int, process.stdout.readline().split()))


@contextlib.contextmanager
def recording(kind: Kind, victim: int, cpus: tuple[int, int], folder: Path) -> Iterator[None]:
    """The recorder beside it, until the end of the block."""
    command = [
        Path(sys.executable).with_name("noisetop"), "record", "-p", str(victim), "-c", str(cpus[0]),
        "-H", str(cpus[1]), "--worst", "3", "--worst-by", *kind.options, "--keep",
        f"{KEEP_NS // 10**9}s", "--after", f"{AFTER_NS // 10**9}s", "-o", folder,
    ]  # fmt: skip
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        wait_until_said(process, "watching")
        yield
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=_TIMEOUT_S)
        if process.returncode:
            raise NoisetopError(f"the recorder ended with {process.returncode}: {said.strip()}")
    finally:
        process.kill()
        process.wait()


def record_once(kind: Kind, binary: Path, cpus: tuple[int, int], seconds: float) -> Outcome:
    """One run."""
    cpu, other = cpus
    where = (other, kind.amount, cpu) if kind.name == "ipi" else (cpu, kind.amount)
    before_s = KEEP_NS / 1e9 + _MARGIN_S
    wait_s = random.uniform(before_s, seconds - AFTER_NS / 1e9 - _MARGIN_S)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "worst"
        with (
            actor(binary, "victim", cpu, other) as victim,
            actor(binary, kind.name, *where) as spike,
            witness_of(spike.pid) as witness,
            recording(kind, victim.pid, cpus, folder),
        ):
            began = time.monotonic()
            time.sleep(wait_s)
            struck = strike(spike)
            seen = witness.saw(cpu, struck.start_ns - _SWITCH_NS, struck.end_ns)
            time.sleep(max(seconds - (time.monotonic() - began), 0))
        return replace(outcome_of(kind, folder, struck), hidden=kind.is_switch and not seen)


def outcome_of(kind: Kind, folder: Path, struck: Strike) -> Outcome:
    """By what the recorder left behind."""
    index = json.loads((folder / "index.json").read_text())
    place = place_of(struck, index)
    if place is None:
        return merged_outcome_of(kind, folder, struck, index)
    wrong = [
        *judged(kind, index[: place + 1]),
        *file_judged(kind, folder, index[place], struck),
    ]
    return Outcome(tuple(wrong), tuple(map(_told, index[:place])))


def merged_outcome_of(
    kind: Kind, folder: Path, struck: Strike, index: Sequence[dict[str, Any]]
) -> Outcome:
    """Where no moment is about it: what lies in the file of a worse moment is merged into that."""
    for place, one in enumerate(index):
        net_ns = net_in(open_recording(folder / one["file"]), kind, struck)
        if net_ns < kind.least_ns:
            continue
        wrong = list(file_judged(kind, folder, one, struck))
        if one["size_ns"] < net_ns:
            wrong.append(f"merged into what is less bad: {net_ns} ns into {_told(one)}")
        return Outcome(tuple(wrong), tuple(map(_told, index[: place + 1])))
    told = "; ".join(map(_told, index))
    return Outcome((f"the spike is not among the worst moments, nor in their files: {told}",))


def net_in(file: Recording, kind: Kind, struck: Strike) -> int:
    """What a file has of the spike by its culprit, in ns."""
    its = [number for number, one in enumerate(file.sources) if one.path[0] == kind.noise_class]
    named = [number for number in its if kind.culprit in file.sources[number].path]
    by = [number for number, one in enumerate(file.triggers) if kind.culprit in one.label]
    total = 0
    for table in file.chunks():
        is_then = table["start_ns"] >= struck.start_ns - _SWITCH_NS
        is_then &= table["start_ns"] <= struck.end_ns + _SWITCH_NS
        is_its = np.isin(table["source"], its) & np.isin(table["trigger"], by)
        is_its |= np.isin(table["source"], named)
        total += int(table["net_ns"][is_then & is_its].sum())
    return total


def place_of(struck: Strike, index: Sequence[dict[str, Any]]) -> int | None:
    """Which moment is about what was done; None: none is."""
    for place, one in enumerate(index):
        start_ns, end_ns = one["start_ns"], one["start_ns"] + one["duration_ns"]
        if start_ns <= struck.end_ns + _STEADY_HOLE_NS and end_ns >= struck.start_ns:
            return place
    return None


def judged(kind: Kind, index: Sequence[dict[str, Any]]) -> Iterator[str]:
    """What is wrong with the last of these entries, or with what comes before it."""
    *before, spike = index
    for one in before:
        if one["size_ns"] < spike["size_ns"]:
            yield f"another moment comes first: {_told(one)}, before {_told(spike)}"
    if spike["source"][:1] != [kind.noise_class] or kind.culprit not in spike["by"]:
        yield f"the culprit is not {kind.culprit}: {_told(spike)}"
    elif spike["net_ns"] < kind.least_ns:
        yield f"{spike['net_ns']} ns are too little for what was done: {_told(spike)}"


def _told(first: dict[str, Any]) -> str:
    return f"{first['net_ns']} ns by {' > '.join(first['source'])}, {first['by'] or 'nobody'}"


def file_judged(kind: Kind, folder: Path, first: dict[str, Any], struck: Strike) -> Iterator[str]:
    """What is wrong with the file of the first entry."""
    file = open_recording(folder / first["file"])
    moment, lost = moment_of(file), summary_of(file).counters.of(LOSSES).total
    if moment is None:
        yield "the file has no moment"
        return
    # Both are counted from the moment: a burst may have begun in the interval before the worst one.
    if file.start_ns > moment.start_ns - KEEP_NS:
        yield f"only {(moment.start_ns - file.start_ns) / 1e9:.3f} s before the moment"
    if file.end_ns < moment.end_ns + AFTER_NS:
        yield f"only {(file.end_ns - moment.end_ns) / 1e9:.3f} s after the moment"
    if lost != first["lost"]:
        yield f"the file tells {lost} lost records, the index {first['lost']}"
    if (hole_ns := longest_hole_ns(file)) > _STEADY_HOLE_NS and not lost:
        yield f"{hole_ns / 1e6:.1f} ms of the steady load are missing, and no loss is told"
    if kind.function and (seen := events_of(file, kind.function, struck)) + lost < struck.count:
        yield f"{seen} of {struck.count} events are in the file, and {lost} are told as lost"


def longest_hole_ns(file: Recording) -> int:
    """The longest time in which the steady load is not seen."""
    ipis = [number for number, one in enumerate(file.sources) if one.path[0] == "ipi"]
    starts = [table["start_ns"][np.isin(table["source"], ipis)] for table in file.chunks()]
    times = np.sort(np.concatenate([np.empty(0, np.int64), *starts]).astype(np.int64))
    return int(np.diff([file.start_ns, *times, file.end_ns]).max())


def events_of(file: Recording, function: str, struck: Strike) -> int:
    """Those of a function since the spike began."""
    its = [number for number, one in enumerate(file.sources) if one.path[-1] == function]
    return sum(
        int((np.isin(table["source"], its) & (table["start_ns"] >= struck.start_ns)).sum())
        for table in file.chunks()
    )


@contextlib.contextmanager
def calibrated(folder: Path, cpus: tuple[int, int]) -> Iterator[None]:
    """What is started in the block finds a calibration of the watched CPU, made now. Raises
    NoisetopError."""
    program, (cpu, other) = Path(sys.executable).with_name("noisetop"), cpus
    command = [program, "probe", "calibrate", "-c", str(cpu), "-H", str(other)]
    before = os.environ.get(_STATE)
    os.environ[_STATE] = str(folder)
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=_TIMEOUT_S)
        yield
    except subprocess.SubprocessError as error:
        raise NoisetopError(f"the calibration failed: {error}") from error
    finally:
        os.environ.pop(_STATE)
        if before is not None:
            os.environ[_STATE] = before


def runs_of(
    kind: Kind, binary: Path, cpus: tuple[int, int], runs: int, seconds: float
) -> list[Outcome]:
    """So many that say something, and those that were repeated; a line for each."""
    found: list[Outcome] = []
    while (number := sum(one.counts for one in found)) < runs and len(found) < 2 * runs:
        found.append(record_once(kind, binary, cpus, seconds))
        print(f"{kind.name} {number + 1}/{runs}: {found[-1].words}", flush=True)
    return found


def verdict(kind: Kind, found: Sequence[Outcome], runs: int, seconds: float) -> bool:
    """Says whether all were caught."""
    caught = [one for one in found if not one.wrong]
    held = len(caught) == runs
    print(
        f"{'held' if held else 'NOT HELD'}: {kind.name} is first of --worst 3 --worst-by "
        f"{' '.join(kind.options)}, with its culprit, what was asked for before and after, and "
        f"every loss told, in {len(caught)} of {runs} runs of {seconds:g} s; in "
        f"{sum(bool(one.longer) for one in caught)} of them behind something that took longer; "
        f"{sum(not one.counts for one in found)} were repeated"
    )
    return held


def run_all(kinds: Sequence[Kind], runs: int, seconds: float) -> int:
    """Runs so often with each kind; a verdict for each."""
    online = online_cpus()
    cpus = online[-1], online[0]
    with tempfile.TemporaryDirectory() as name, calibrated(Path(name), cpus):
        binary = compiled(SOURCE, Path(name))
        found = {kind.name: runs_of(kind, binary, cpus, runs, seconds) for kind in kinds}
    held = [verdict(kind, found[kind.name], runs, seconds) for kind in kinds]
    return int(not all(held))


def main(argv: Sequence[str] | None = None) -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench.spikes", description=__doc__)
    parser.add_argument("--runs", type=int, default=20, help="default: %(default)s")
    parser.add_argument("--seconds", type=float, default=60, help="of each; default: %(default)s")
    parser.add_argument(
        "--kind", choices=[kind.name for kind in KINDS], action="append", help="default: all"
    )
    args = parser.parse_args(argv)
    if args.runs < 1 or args.seconds < LEAST_S:
        parser.error(f"give one run of {LEAST_S} s or more")
    kinds = [kind for kind in KINDS if not args.kind or kind.name in args.kind]
    try:
        return run_all(kinds, args.runs, args.seconds)
    except NoisetopError as error:
        print(f"bench: {error}", file=sys.stderr)
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
