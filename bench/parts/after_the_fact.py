"""Part 6: reading what was recorded: report and every export, against what peers offer for it."""

from __future__ import annotations

import os
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from bench.estimate import Estimate, Floats, estimate, median
from bench.made_up_recording import Size, write_made_up
from bench.parts import Part, PartResult, Plan, Target
from bench.rounds import announced
from bench.run_once import RunOnce, run_once
from bench.table import Table, with_interval
from bench.tools import Seen, Setting, Tool
from bench.tools.perf import OUTPUT as PERF_DATA
from bench.tools.perf import TOOLS as PERF
from bench.tools.trace_cmd import OUTPUT as TRACE_DAT
from bench.tools.trace_cmd import TOOLS as TRACE_CMD
from bench.tracepoints import Tracepoint
from bench.victim import Load, Victim
from noisetop.errors import UsageError
from noisetop.exporters import TableExporter, exporters_by_suffix

MANY = 10_000_000
FEW = 1_000_000
MOST_ROUNDS = 3
"""A round over ten million events takes half a minute, so there are fewer than elsewhere."""
BYTES_PER_EVENT = 600
REPORT = "noisetop report"
TRACE = "noisetop export .json"
SCRIPT = "perf script"
KWORK = "perf kwork report"
TRACE_REPORT = "trace-cmd report"
REPORT_LIMIT_S, REPORT_LIMIT_GIB = 5.0, 1.0
EXPORT_LIMIT_US = 1.0
PEER_LIMIT = 0.1
PEER_BUFFER_KIB = 8192
SOFTIRQ_TRACEPOINTS = ("softirq_entry", "softirq_exit", "softirq_raise")
_LOADS = (Load("ipi", "ipi", 100_000, 400), Load("timer", "timer", 20_000, 400))
_TALK_S = 1.0


@dataclass(frozen=True, slots=True)
class Job:
    """One command over a recording of so many events."""

    name: str
    argv: tuple[str, ...]
    events: int
    written: Path | None = None
    """What it leaves behind, besides its stdout."""


@dataclass(slots=True)
class Reading:
    """All rounds of a job."""

    job: Job
    runs: list[RunOnce] = field(default_factory=list)

    def seconds(self) -> list[float]:
        """By round."""
        return [run.seconds for run in self.runs]

    def ns_per_event(self) -> list[float]:
        """By round."""
        return [run.seconds * 1e9 / self.job.events for run in self.runs]

    def peak_bytes(self) -> int:
        """Of any round."""
        return max(run.peak_bytes for run in self.runs)


@dataclass(frozen=True, slots=True)
class AfterTheFact:
    """The part."""

    number: int = 6
    name: str = "after_the_fact"
    needs_root: bool = False

    def run(self, plan: Plan) -> PartResult:
        """noisetop's jobs on made-up recordings, the peers' on what they recorded just now, as
        nobody but them can write their files; without root only noisetop's."""
        folder = plan.setting.folder
        with recordings(folder) as (many, few, events):
            jobs = [*own_jobs(folder, many, few, events)]
            jobs += peer_jobs(plan) if os.geteuid() == 0 else []
            readings = {job.name: Reading(job) for job in jobs}
            for number in announced(min(plan.rounds, MOST_ROUNDS)):
                turn = number % len(jobs)
                for job in (*jobs[turn:], *jobs[:turn]):
                    readings[job.name].runs.append(run_job(job, folder))
        return result_of(readings)


@contextmanager
def recordings(folder: Path) -> Iterator[tuple[Path, Path, dict[Path, int]]]:
    """A large recording, a small one, and the events in each; the large one is as small where the
    folder has no room for what becomes of it."""
    many, few = folder / "many.noisetop", folder / "few.noisetop"
    room = shutil.disk_usage(folder).free > 2 * MANY * BYTES_PER_EVENT
    try:
        events = {
            path: write_made_up(path, Size(records=records))
            for path, records in ((many, MANY if room else FEW), (few, FEW))
        }
        yield many, few, events
    finally:
        many.unlink(missing_ok=True)
        few.unlink(missing_ok=True)


def own_jobs(folder: Path, many: Path, few: Path, events: dict[Path, int]) -> Iterator[Job]:
    """The report, the trace, and on fewer events every other format."""
    program = (sys.executable, "-m", "noisetop")
    yield Job(REPORT, (*program, "report", str(many)), events[many])
    for suffix in sorted(_installed(), key=lambda suffix: suffix != ".json"):
        source = many if suffix == ".json" else few
        output = folder / f"out{suffix}"
        argv = (*program, "export", str(source), "-o", str(output), "--force")
        yield Job(f"noisetop export {suffix}", argv, events[source], output)


def _installed() -> Iterator[str]:
    """Suffixes of the formats that need nothing which is not installed."""
    for suffix, exporter in exporters_by_suffix().items():
        with suppress(UsageError):
            if isinstance(exporter, TableExporter):
                exporter.check_installed()
            yield suffix


def peer_jobs(plan: Plan) -> Iterator[Job]:
    """What peers offer, over as much as they record in about two seconds."""
    disturbed = plan.setting
    if shutil.which("perf"):
        path, seen = record(PERF[0], disturbed, PERF_DATA, lambda: disturb(plan.victim))
        yield Job(SCRIPT, ("perf", "script", "-i", str(path)), seen.events)
        softirqs = tuple(Tracepoint("irq", name) for name in SOFTIRQ_TRACEPOINTS)
        talking = replace(plan.setting, tracepoints=softirqs, everywhere=True)
        path, seen = record(PERF[0], talking, PERF_DATA, talk_to_self)
        argv = ("perf", "kwork", "-k", "softirq", "report", "-i", str(path))
        yield Job(KWORK, argv, seen.events)
    if shutil.which("trace-cmd"):
        path, seen = record(TRACE_CMD[0], disturbed, TRACE_DAT, lambda: disturb(plan.victim))
        yield Job(TRACE_REPORT, ("trace-cmd", "report", "-i", str(path)), seen.events)


def record(
    tool: Tool, setting: Setting, output: str, load: Callable[[], None]
) -> tuple[Path, Seen]:
    """Records a load with a peer, into a folder of its own; the file and what is in it."""
    folder = Path(tempfile.mkdtemp(dir=setting.folder))
    kept = replace(setting, folder=folder, keep=True, buffer_kib=PEER_BUFFER_KIB)
    with tool.run(kept) as session:
        load()
    return folder / output, session.seen()


def disturb(victim: Victim) -> None:
    """Interrupts of both kinds, as many as there can be."""
    for load in _LOADS * 2:
        victim.spin(load)


def talk_to_self() -> None:
    """Softirqs: packets over loopback, to a port that nobody reads."""
    until = time.monotonic() + _TALK_S
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as reader,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender,
    ):
        reader.bind(("127.0.0.1", 0))
        while time.monotonic() < until:
            for _ in range(100):
                sender.sendto(b"", reader.getsockname())


def run_job(job: Job, folder: Path) -> RunOnce:
    """Once; what it wrote is removed."""
    stdout = folder / "stdout"
    try:
        return run_once(job.argv, stdout)
    finally:
        stdout.unlink(missing_ok=True)
        if job.written:
            job.written.unlink(missing_ok=True)


def result_of(readings: dict[str, Reading]) -> PartResult:
    """Time per event against that of each peer, noisetop's first."""

    def ratio(own: Floats, peer: Floats) -> Floats:
        return np.asarray(np.median(own, axis=-1) / np.median(peer, axis=-1))

    ratios = {
        f"after_the_fact/{ours} : {peer}": estimate(
            ratio, readings[ours].ns_per_event(), readings[peer].ns_per_event()
        )
        for ours in (REPORT, TRACE)
        for peer in (SCRIPT, KWORK, TRACE_REPORT)
        if peer in readings
    }
    figures: dict[str, object] = {
        name: {
            "events": reading.job.events,
            "seconds": [round(seconds, 3) for seconds in reading.seconds()],
            "ns_per_event": estimate(median, reading.ns_per_event()).as_json(),
            "peak_bytes": reading.peak_bytes(),
        }
        for name, reading in readings.items()
    }
    return PartResult(
        figures, tables_of(readings, ratios), ratios, tuple(targets_of(readings, ratios))
    )


def targets_of(readings: dict[str, Reading], ratios: dict[str, Estimate]) -> Iterator[Target]:
    """The limits that the project sets itself."""
    report, trace = readings[REPORT], readings[TRACE]
    per_event = estimate(median, report.ns_per_event())
    seconds = [part * MANY / 1e9 for part in (per_event.value, per_event.low, per_event.high)]
    peak = report.peak_bytes()
    yield Target(
        "after_the_fact/report of 10 million events, s", Estimate(*seconds), REPORT_LIMIT_S
    )
    yield Target(
        "after_the_fact/report's peak memory, GiB",
        Estimate(*[peak / (1 << 30)] * 3),
        REPORT_LIMIT_GIB,
    )
    yield Target(
        "after_the_fact/export .json, µs per event",
        estimate(median, [ns / 1000 for ns in trace.ns_per_event()]),
        EXPORT_LIMIT_US,
    )
    for ours in (REPORT, TRACE):
        name = f"after_the_fact/{ours} : {SCRIPT}"
        if name in ratios:
            yield Target(name, ratios[name], PEER_LIMIT)


def tables_of(readings: dict[str, Reading], ratios: dict[str, Estimate]) -> tuple[Table, ...]:
    """The ratios, then each job."""
    pairs = tuple(
        (name.split("/", 1)[1], with_interval(one, digits=3)) for name, one in ratios.items()
    )
    rows = tuple(
        (
            name,
            f"{reading.job.events / 1e6:.2f}",
            with_interval(estimate(median, reading.seconds())),
            with_interval(estimate(median, [1e3 / ns for ns in reading.ns_per_event()])),
            f"{reading.peak_bytes() / (1 << 20):.0f}",
        )
        for name, reading in readings.items()
    )
    rounds = len(readings[REPORT].runs)
    against_peers = Table("Time per event, noisetop : peer", ("ratio", "value"), pairs)
    return (
        *([against_peers] if pairs else []),
        Table(
            "Reading a recording",
            ("command", "million events", "s", "million events per s", "peak MiB"),
            rows,
            f"Median of {rounds} rounds. noisetop's events are the records of its file, of which "
            "an interruption is one and who caused it another; a peer's are those of tracepoints, "
            "two for an interruption. Peers read what they recorded under IPIs and timers (perf "
            "kwork: softirqs of packets over loopback) as fast as they come.",
        ),
    )


PART: Part = AfterTheFact()
