"""The flight recorder beside a live view: the same records go to both."""

from __future__ import annotations

import argparse
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from noisetop.errors import UsageError
from noisetop.events.records import Pieces
from noisetop.events.victim_time import ANY_TASK
from noisetop.flight_recorder.actions import TRACE, Action, run_command
from noisetop.flight_recorder.hits import HitFiles
from noisetop.flight_recorder.recorder import FlightRecorder, Plan
from noisetop.flight_recorder.sinks import ASKED_FILE, Sinks
from noisetop.flight_recorder.worst_folder import BY_COST, WorstFolder
from noisetop.flight_recorder.writer import SnapshotWriter
from noisetop.machine.system import boot_id
from noisetop.recording.moment import KeptMoment, Moment
from noisetop.recording.open import SUFFIX
from noisetop.session.capture import recording_metadata
from noisetop.session.flight_options import (
    AFTER,
    add_worst_arguments,
    folder_of,
    keep_of,
    period_of,
    user_for_commands,
)
from noisetop.session.notice import notice
from noisetop.session.worst_detectors import worst_detectors
from noisetop.text.units import parse_duration
from noisetop.tracing.tracer import Tracer

KEEP = "10s,32M"
_FILE = f"noisetop-%t-%n{SUFFIX}"
_KEY = "key R"
_REPEATED = 20


def add_live_recorder_arguments(parser: argparse.ArgumentParser) -> None:
    """``--keep``, ``--after``, ``--worst`` and ``--worst-by``."""
    group = parser.add_argument_group(
        "flight recorder",
        "the last seconds are kept in memory: key R of the dashboard writes them, key W lists the "
        "worst moments that are kept",
    )
    add_worst_arguments(group, KEEP)


@dataclass(slots=True)
class LiveRecorder:
    """A noisetop.live.snapshots.Snapshots."""

    plan: Plan
    hits: HitFiles
    worst: WorstFolder | None
    has_keys: bool
    """Whether the view takes keys, and owns the terminal."""
    on_message: Callable[[str], object] | None = None
    _said: deque[str] = field(default_factory=lambda: deque(maxlen=_REPEATED))
    """To the view alone."""
    _asked: threading.Event = field(default_factory=threading.Event)
    _recorder: FlightRecorder | None = None

    @classmethod
    def of(cls, args: argparse.Namespace, *, has_keys: bool) -> LiveRecorder | None:
        """What the options ask for; None: nothing, and no key can. Opens the folder. Raises
        UsageError and NoisetopError."""
        if not args.worst:
            for name, given in (("--keep", args.keep and not has_keys), ("--after", args.after)):
                if given:
                    raise UsageError(f"{name} goes with --worst K -o DIR/")
            if not has_keys:
                return None
        worst = None
        if args.worst:
            if args.output is None:
                raise UsageError("--worst writes into a folder: give one with -o DIR/")
            worst = WorstFolder(folder_of(args.output), args.worst, args.worst_by, boot_id())
            worst.open()
        output = worst.path / ASKED_FILE if worst else Path(_FILE)
        keep_ns, keep_bytes = args.keep or keep_of(KEEP)
        after_ns = args.after if args.after is not None else parse_duration(AFTER)
        plan = Plan(
            keep_ns,
            keep_bytes,
            after_ns if worst else 0,
            by_rank=True,
            by_cost=bool(worst and worst.by in BY_COST),
            period_ns=period_of(args),
        )
        run = partial(run_command, user=user_for_commands())
        made = cls(plan, HitFiles([Action(TRACE)], output, run, notice), worst, has_keys)
        made.hits.notice = made.say
        return made

    @property
    def keep_ns(self) -> int:
        """Part of Snapshots."""
        return self.plan.keep_ns

    def say(self, text: str) -> None:
        """A line for the user: in the view where there is one that takes it, else on stderr."""
        if self.on_message is None:
            notice(text)
        else:
            self._said.append(text)
            self.on_message(text)

    def say_again(self) -> None:
        """On stderr, when the view has ended: the latest lines that only the view has shown."""
        while self._said:
            notice(self._said.popleft())

    def ask(self) -> None:
        """Part of Snapshots."""
        self._asked.set()

    def kept(self) -> Sequence[KeptMoment] | None:
        """Part of Snapshots."""
        if self.worst is None:
            return None
        return tuple(
            KeptMoment(rank, self.worst.path / one.file, one.figures)
            for rank, one in enumerate(self.worst.kept, 1)
        )

    @contextmanager
    def beside(self, tracer: Tracer) -> Iterator[None]:
        """Takes what is read of a tracer that runs, until the end of the block or of its window."""
        sinks = Sinks(self.hits, self.worst, on_asked=lambda file: self.say(f"written: {file}"))
        with SnapshotWriter(sinks, self.say) as writer:
            self._recorder = self._new_recorder(tracer, writer)
            tracer.on_records, tracer.before_stop = self._take, self._finish
            try:
                yield
            finally:
                tracer.on_records = tracer.before_stop = None
                self._finish()

    def _new_recorder(self, tracer: Tracer, writer: SnapshotWriter) -> FlightRecorder:
        worst = self.worst
        looks_first = worst is not None and tracer.target.victims == ANY_TASK
        return FlightRecorder(
            tracer,
            replace(self.plan, looks_first=looks_first),
            tuple(worst_detectors(worst, tracer, self.plan.period_ns)) if worst else (),
            writer,
            recording_metadata(tracer),
            self.say,
            worst.contains if worst else _never,
        )

    def _take(self, records: Pieces, until_ns: int) -> None:
        if self._recorder is None:
            return
        self._recorder.take(records, until_ns)
        if self._asked.is_set():
            self._asked.clear()
            self._recorder.ask(_KEY)

    def _finish(self) -> None:
        """Before the window stops: what goes on is told as of now."""
        recorder, self._recorder = self._recorder, None
        if recorder is not None and self.worst is not None:
            recorder.finish()


def _never(moment: Moment) -> bool:
    return False
