"""A traced run of the flight recorder: from its options to the files that it leaves."""

from __future__ import annotations

import argparse
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path

from noisetop.errors import EXIT_LIMIT, UsageError
from noisetop.events.victim_time import ANY_TASK
from noisetop.flight_recorder.actions import SHELL, SIGNAL
from noisetop.flight_recorder.command_runner import CommandRunner
from noisetop.flight_recorder.detectors import (
    Detector,
    GapDetector,
    SingleDetector,
    SourceDetector,
    TotalDetector,
    WaitDetector,
)
from noisetop.flight_recorder.hits import HitFiles, numbered
from noisetop.flight_recorder.recorder import FlightRecorder
from noisetop.flight_recorder.sinks import ASKED_FILE, END, Sinks
from noisetop.flight_recorder.worst_folder import WorstFolder
from noisetop.flight_recorder.writer import SnapshotWriter
from noisetop.machine.system import boot_id
from noisetop.output import PRIVATE, check_output
from noisetop.recording.moment import Figures, Moment
from noisetop.recording.open import SUFFIX
from noisetop.session.capture import recording_metadata
from noisetop.session.flight_options import FlightOptions, folder_of, user_for_commands
from noisetop.session.gap_probe import GapProbe
from noisetop.session.notice import notice
from noisetop.session.traced_run import TracedRun
from noisetop.session.worst_detectors import worst_detectors
from noisetop.text.sanitize import printable
from noisetop.text.units import format_ns
from noisetop.tracing.later_steps import LaterSteps
from noisetop.tracing.tracer import Tracer

_POLL_NS = 500_000_000


class FlightRun:
    """Records moments. Creating one checks the outputs, before anything is traced. Raises
    UsageError and NoisetopError."""

    def __init__(self, args: argparse.Namespace, options: FlightOptions) -> None:
        self._options = options
        self._probe: GapProbe | None = None
        self._quiet = args.quiet
        self._worst: WorstFolder | None = None
        output = args.output
        if options.worst:
            self._worst = WorstFolder(folder_of(output), options.worst, options.worst_by, boot_id())
            self._worst.open()
            output = output / ASKED_FILE
        elif output.suffix != SUFFIX:
            raise UsageError(f"a snapshot is a {SUFFIX} file: noisetop export makes others of it")
        actions = (*options.on_threshold, *options.on_end)
        commands = tuple(one for one in actions if one.kind == SHELL)
        self._commands = CommandRunner(commands, user_for_commands())
        hits = HitFiles(
            options.on_threshold, output, self._commands.run, notice, args.force,
            options.max_files,
        )  # fmt: skip
        if hits.goes_on or not options.has_threshold:
            hits.output = numbered(output)
        else:
            check_output(output, force=args.force, mode=PRIVATE)
        hits.open()
        self._hits = hits
        if options.control:
            options.control.check()
        files = [Path(one.file) for one in actions if one.file]
        self.later = LaterSteps(
            signals=any(one.kind == SIGNAL for one in actions),
            folders=(args.output.parent, *(one.parent for one in (output, *files))),
        )
        """For the TracedRun."""

    def run(self, run: TracedRun, started: Callable[[], None]) -> int:
        """Until the end of the run; EXIT_LIMIT where a threshold ended it, else 0. Calls
        ``started`` when the window has begun."""
        sinks = Sinks(self._hits, self._worst, self._options.on_end)
        gap_ns = self._options.gap_ns
        spinning = GapProbe(run.target.cpus, gap_ns, notice) if gap_ns else nullcontext()
        with (
            self._commands if self._commands.commands else nullcontext(),
            _snapshot_signal(run.stopper.wake) as asked,
            self._options.control or nullcontext(),
            spinning as self._probe,
            run.tracing() as tracer,
            SnapshotWriter(sinks, notice) as writer,
        ):
            if self._probe is not None:
                self._probe.begin()
            started()
            recorder = self._recorder(tracer, writer)
            if not self._quiet:
                notice(f"watching {run.target.title}: {self._looks_for()}: Ctrl-C ends it")
            self._loop(run, recorder, asked)
            if not self._hits.stop.is_set():
                recorder.finish()
            if self._options.on_end:
                recorder.ask(END)
        if not self._quiet:
            for line in self._closing_lines(recorder, writer):
                notice(line)
            if run.result:
                notice(run.result.words)
        return EXIT_LIMIT if self._hits.stop.is_set() else 0

    @property
    def _stops(self) -> bool:
        return self._options.has_threshold and not self._hits.goes_on

    def _recorder(self, tracer: Tracer, writer: SnapshotWriter) -> FlightRecorder:
        looks_first = tracer.target.victims == ANY_TASK
        plan = replace(self._options.plan, stops=self._stops, looks_first=looks_first)
        worst = self._worst
        return FlightRecorder(
            tracer, plan, tuple(self._detectors(tracer)), writer, recording_metadata(tracer),
            notice, worst.contains if worst else _never, self._options.single_ns,
        )  # fmt: skip

    def _detectors(self, tracer: Tracer) -> Iterator[Detector]:
        options, plan = self._options, self._options.plan
        if self._worst is not None:
            yield from worst_detectors(self._worst, tracer, plan.period_ns)
        if options.single_ns:
            yield SingleDetector(tracer.layout, partial(int, options.single_ns))
        if options.total_ns:
            yield TotalDetector(
                partial(int, options.total_ns), tracer.start_ns, plan.least_ns, plan.period_ns
            )
        if options.wait_ns:
            yield WaitDetector(tracer.layout, partial(int, options.wait_ns))
        if options.source:
            yield SourceDetector(tracer.layout, tracer.names, tracer.own_pid, options.source)
        if self._probe is not None:
            yield GapDetector(self._probe.found, options.gap_ns)

    def _loop(self, run: TracedRun, recorder: FlightRecorder, asked: Callable[[], bool]) -> None:
        control = self._options.control
        while not run.stopper.wait_until(time.monotonic_ns() + _POLL_NS):
            recorder.poll()
            if asked():
                recorder.ask("SIGUSR2")
            for line in control.lines() if control else ():
                self._obey(line, run, recorder)
            if self._hits.stop.is_set():
                run.stopper.stop()

    def _obey(self, line: str, run: TracedRun, recorder: FlightRecorder) -> None:
        word, _, name = line.partition(" ")
        if word == "snapshot":
            recorder.ask(name or "control")
        elif word in ("enable", "disable"):
            recorder.enabled = word == "enable"
        elif word == "stop":
            run.stopper.stop("control asked for the end")
        elif word == "mark" and name:
            recorder.mark(name)
        elif word != "ping":
            words = "snapshot, enable, disable, stop, ping or mark NAME"
            notice(f"control: '{printable(line)}' is no command: write {words}")
            return
        if self._options.control is not None:
            self._options.control.acknowledge()

    def _looks_for(self) -> str:
        options = self._options
        if options.worst:
            return f"the {options.worst} worst moments go to {self._hits.output.parent}"
        kept = f"the last {format_ns(options.plan.keep_ns)} are in memory"
        return kept if options.has_threshold else f"{kept}, SIGUSR2 writes them"

    def _closing_lines(self, recorder: FlightRecorder, writer: SnapshotWriter) -> Iterator[str]:
        if self._worst is not None:
            kept = self._worst.kept
            yield f"{_counted(len(kept), 'moment')} in {self._worst.path}"
            if kept:
                yield f"the worst: {_told(kept[0].figures)}: {self._worst.path / kept[0].file}"
        for hit in self._hits.hits if not self._worst else ():
            where = f": {hit.file}" if hit.file else ""
            what = _told(hit.figures) if hit.figures else "no external noise"
            yield f"{what}{where}"
        if recorder.skipped or writer.failed:
            yield f"{_counted(recorder.skipped + writer.failed, 'snapshot')} not written"


def _never(moment: Moment) -> bool:
    return False


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _told(figures: Figures) -> str:
    """Size, place, source and who, in one line."""
    cost = "" if figures.cost_ns is None else f" (≈{format_ns(figures.cost_ns)})"
    by = f" by {figures.by}" if figures.by else ""
    what = f", {printable(' › '.join(figures.source))}{by}" if figures.source else ""
    lost = f", {figures.lost} dropped" if figures.lost else ""
    return f"{format_ns(figures.net_ns)}{cost} on CPU {figures.cpu}{what}{lost}"


@contextmanager
def _snapshot_signal(wake: Callable[[], None]) -> Iterator[Callable[[], bool]]:
    """SIGUSR2 asks for a snapshot; yields whether one was asked for since the last call."""
    asked: list[bool] = []

    def handle(*_: object) -> None:
        asked.append(True)
        wake()

    def take() -> bool:
        was = bool(asked)
        asked.clear()
        return was

    before = signal.signal(signal.SIGUSR2, handle)
    try:
        yield take
    finally:
        signal.signal(signal.SIGUSR2, before)
