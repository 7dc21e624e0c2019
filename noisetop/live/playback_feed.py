"""Samples of a recording, as the dashboard asks for them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from noisetop.diagnosis import Diagnosis
from noisetop.errors import NoisetopError
from noisetop.live.noise_columns import NoiseColumns, noise_column
from noisetop.live.periods import MOST_PERIODS
from noisetop.live.playback import Playback
from noisetop.live.played_causes import PlayedCauses
from noisetop.live.position import Position
from noisetop.live.sample import Sample
from noisetop.machine.topology import CpuPlace, places_of
from noisetop.summary.summary import Summary
from noisetop.summary.worst import WorstInterruption

_FRAME_NS = 100_000_000
"""Between two samples while it plays, at least."""


@dataclass(slots=True)
class PlaybackFeed:
    """A noisetop.live.sample.Feed over a recording. The thread that calls next() reads and
    summarises; go() and what it gives to look at belong to any thread.

    What takes long is done between samples: the worst moments, where the time of threads went, and
    a column for each period.
    """

    playback: Playback
    title: str
    interrupted: bool = False
    interval_ns: int = field(init=False)
    """Length of a period."""
    wanted: Position = field(init=False)
    """What next() is going to give, or gave last."""
    read_share: float = 0.0
    """Of the recording, by time; 1: all of it."""
    moments: Sequence[WorstInterruption] = ()
    """Worst first; empty until they are found."""
    columns: NoiseColumns = field(default_factory=lambda: NoiseColumns(MOST_PERIODS))
    """By period; grows from the first one on."""
    places: Mapping[int, CpuPlace] = field(init=False)
    """Where the CPUs lay, as the recording tells it."""
    on_progress: Callable[[], object] = lambda: None
    """Called from the reading thread whenever ``read_share``, ``moments`` or ``columns`` has
    become another, some times a second."""
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _shown: Position | None = None
    _shown_accounts: int = 0
    _causes: PlayedCauses = field(init=False)
    _shown_causes: Diagnosis | None = None
    _telling: bool = False
    _told_moments_of: Position | None = None
    _stopping: bool = False
    _due_ns: int = 0
    _told_ns: int = 0
    _searched: bool = False
    _searcher: threading.Thread | None = None
    _search_failure: NoisetopError | None = None
    _accountant: threading.Thread | None = None
    _summary: tuple[tuple[int, int, bool, bool], Summary] | None = None
    """The last one, and what it is of."""

    def __post_init__(self) -> None:
        self._causes = PlayedCauses(self.playback)
        self.wanted = Position.whole(len(self.playback.periods))
        self.places = places_of(self.playback.recording.metadata.get("topology"))
        self.interval_ns = self.playback.periods.since_start_ns(1)

    @property
    def accounted_share(self) -> float:
        """Of the periods: those of which it is told where the time of threads went."""
        return self.playback.accounted / len(self.playback.periods)

    @property
    def is_diagnosing(self) -> bool:
        """Whether somebody looks at causes: a sample with them follows each part."""
        return self._causes.wanted

    def go(self, position: Position) -> None:
        """Has next() give this part."""
        with self._changed:
            self.wanted = position
            self._due_ns = time.monotonic_ns() + _pause_ns(position, self.interval_ns)
            self._changed.notify_all()

    def next(self) -> Sample:
        """Waits until another part is to be shown, or more is told of it. Raises NoisetopError."""
        if not self.read_share:
            self.playback.load(self._reading)
            self.read_share = 1.0
            self._begin_accounts()
            self._begin_search()
        while True:
            with self._changed:
                position = self._next_position()
            if position is not None:
                return self._sample(position)
            if not self._work():
                with self._changed:
                    if self._next_position() is None:
                        self._changed.wait(self._patience_s())

    def _next_position(self) -> Position | None:
        """What is to be shown now; None: nothing else than what is."""
        position, accounts = self.wanted, self.playback.accounted
        wants_more = self._has_causes() or self._wants_moments()
        if self._stopping or wants_more or position != self._shown:
            return position
        if self.wanted.playing and time.monotonic_ns() >= self._due_ns:
            self._advance()
            return self.wanted
        is_news = self._shown_accounts < position.until <= accounts
        return position if is_news else None

    def _has_causes(self) -> bool:
        """Whether they have been found since the last sample."""
        found = self._causes.of(self.wanted)
        return found is not None and found is not self._shown_causes

    def _wants_moments(self) -> bool:
        """Those of the whole come with the search for them."""
        position = self.wanted
        is_new = self._telling and self._told_moments_of != position and not position.playing
        return is_new and (self._searched or not position.is_whole)

    def _advance(self) -> None:
        """The next period that is played; some are passed over where they come too fast to see."""
        position, now_ns = self.wanted, time.monotonic_ns()
        pause_ns = _pause_ns(position, self.interval_ns)
        by = max(1, round(pause_ns * position.speed / self.interval_ns))
        position = position.at(position.current + by)
        self.wanted = replace(position, playing=not position.at_end)
        self._due_ns = max(self._due_ns, now_ns - pause_ns) + pause_ns

    def _patience_s(self) -> float | None:
        if self.wanted.playing:
            return max(self._due_ns - time.monotonic_ns(), 0) / 1e9
        return None if self.playback.accounted == len(self.playback.periods) else 0.2

    def _sample(self, position: Position) -> Sample:
        self._shown, self._shown_accounts = position, self.playback.accounted
        summary = self._summary_of(position)
        self._shown_causes = self._causes.of(position)
        moments = self._moments_of(position)
        return Sample(summary, summary, self._shown_causes, position=position, moments=moments)

    def _moments_of(self, position: Position) -> tuple[WorstInterruption, ...] | None:
        if not self._telling or position.playing or (position.is_whole and not self._searched):
            return None
        self._told_moments_of = position
        if position.is_whole:
            return tuple(self.moments)
        return tuple(self.playback.moments_of(position.first, position.until))

    def _summary_of(self, position: Position) -> Summary:
        is_total = position.first == 0 and (position.since_start or position.is_whole)
        is_told = position.until <= self.playback.accounted
        about = position.first, position.until, is_total, is_told
        if self._summary is not None and (self._stopping or self._summary[0] == about):
            return self._summary[1]
        if is_total:
            summary = self.playback.total(position.until)
        else:
            summary = self.playback.span(position.first, position.until)
        self._summary = about, summary
        return summary

    def _work(self) -> bool:
        """Does a part of what is left to do. False: there is nothing."""
        if self._search_failure is not None:
            raise self._search_failure
        if self._causes.work(self.wanted):
            return True
        number = self.columns.newest + 1
        if number >= min(self.playback.accounted, len(self.playback.periods)):
            return self.playback.prepare_total()
        self.columns.append(noise_column(self.playback.span(number, number + 1)))
        if number + 1 == len(self.playback.periods):
            self._begin_search()  # by now it is known whose the CPUs are
        self._tell()
        return True

    def _begin_search(self) -> None:
        """For the worst moments, in a thread of its own: it takes long, and no step waits for
        it."""
        before = self._searcher
        self._searcher = threading.Thread(target=self._search, args=(before,), daemon=True)
        self._searcher.start()

    def _search(self, before: threading.Thread | None) -> None:
        if before is not None:
            before.join()
        try:
            self.playback.find_worst()
        except NoisetopError as error:
            self._search_failure = error
        with self._changed:
            self.moments, self._searched = self.playback.worst, True
            self._told_moments_of = None
            self._changed.notify_all()
        self.on_progress()

    def _begin_accounts(self) -> None:
        if self._accountant is not None:
            self._accountant.join()
        self._accountant = threading.Thread(target=self._account, daemon=True)
        self._accountant.start()

    def _account(self) -> None:
        while self.playback.accounted < len(self.playback.periods) and not self._stopping:
            self.playback.account_next()
            with self._changed:
                self._changed.notify_all()

    def _reading(self, share: float) -> None:
        self.read_share = share
        self._tell()

    def _tell(self) -> None:
        now_ns = time.monotonic_ns()
        if now_ns - self._told_ns >= _FRAME_NS:
            self._told_ns = now_ns
            self.on_progress()

    def reopen(self) -> None:
        """After wake(), when nobody waits for next() any more: another view is to have samples."""
        with self._changed:
            self._stopping, self._shown = False, None
            self.on_progress = lambda: None
        if self.read_share == 1:
            self._begin_accounts()

    def reset(self) -> None:
        """A recording has no counters to reset."""

    def diagnose(self, *, wanted: bool) -> None:
        """Has samples carry a diagnosis, or no longer."""
        with self._changed:
            self._causes.wanted, self._shown_causes = wanted, None
            self._changed.notify_all()

    def want_moments(self, *, wanted: bool) -> None:
        """Has samples carry the worst moments of their part, or no longer."""
        with self._changed:
            self._telling, self._told_moments_of = wanted, None
            self._changed.notify_all()

    def wake(self) -> None:
        """Ends the wait of next()."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()


def _pause_ns(position: Position, interval_ns: int) -> int:
    """Between two samples while it plays."""
    return max(round(interval_ns / position.speed), _FRAME_NS)
