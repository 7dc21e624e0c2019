"""What the dashboard shows, as one immutable value that all panels watch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from textual.app import App
from textual.reactive import var

from noisetop.live.noise_columns import NoiseColumns
from noisetop.live.pair import Pair
from noisetop.live.playback_feed import PlaybackFeed
from noisetop.live.sample import Feed, Sample
from noisetop.live.snapshots import Snapshots
from noisetop.summary.summary import CpuSummary, Summary
from noisetop.tui.history import History
from noisetop.tui.keys import ViewKind


@dataclass(frozen=True, slots=True)
class View:
    """Which sources are shown."""

    cpu: int | None = None
    """Only what ran on this CPU."""
    per_cpu: bool = False
    """A row per CPU and source instead of their sum over the CPUs."""
    idle: bool = False
    """Also what ran while the CPU was idle."""
    filter: str = ""
    """Only what matches it, see noisetop.tui.path_filter; empty: all."""


@dataclass(frozen=True, slots=True, eq=False)
class Period:
    """What the tables show. Compared by identity: a new one means new figures."""

    summary: Summary
    everywhere: CpuSummary
    """``summary.all_cpus()``, computed once for all panels."""
    history: History


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """Everything that panels draw from; replaced as a whole on a sample or a key."""

    title: str = ""
    """What is watched."""
    interval_ns: int = 0
    latest: Sample | None = None
    """The newest sample; None before the first one since the start or a reset."""
    shown: Sample | None = None
    """What the tables show; older than ``latest`` while paused."""
    period: Period | None = None
    """The total or the last interval of ``shown``."""
    running_ns: int = 0
    """Since tracing started; a reset does not change it."""
    since: str = "start"
    """What the totals count from: ``start`` or ``reset``."""
    last_only: bool = False
    paused: bool = False
    view: View = View()
    past_ns: int | None = None
    """Paused with an earlier interval, which began this long after tracing did; None: with none."""
    progress: int = 0
    """Of a recording: changes when more of it is known, as its worst moments."""

    def with_sample(self, sample: Sample, running_ns: int, history: History) -> State:
        """A newer sample; while paused the tables stay."""
        state = replace(self, latest=sample, running_ns=running_ns)
        return state if self.paused else state._showing(sample, history)

    def with_history(self, history: History) -> State:
        """The same figures with other bars."""
        return self if self.shown is None else self._showing(self.shown, history)

    def with_pause(self, history: History) -> State:
        """Paused with these bars, or going on with the latest sample."""
        if self.shown is None or self.latest is None:
            return self
        sample = self.latest if self.paused else self.shown
        state = replace(self, paused=not self.paused, past_ns=None)
        return state._showing(sample, history)

    def with_past(self, interval: Summary, since_start_ns: int, history: History) -> State:
        """Paused with an earlier interval."""
        sample = Sample(interval, interval)
        state = replace(self, paused=True, past_ns=since_start_ns)
        return state._showing(sample, history)

    def with_other_period(self) -> State:
        """The last interval in place of the total, or the reverse."""
        state = replace(self, last_only=not self.last_only)
        if self.shown is None or self.period is None:
            return state
        return state._showing(self.shown, self.period.history)

    def after_reset(self) -> State:
        """No figures until the next sample."""
        return State(
            self.title, self.interval_ns, since="reset", last_only=self.last_only, view=self.view
        )

    def _showing(self, sample: Sample, history: History) -> State:
        summary = sample.interval if self.last_only else sample.total
        return replace(self, shown=sample, period=Period(summary, summary.all_cpus(), history))


class StatefulApp(App[bool]):
    """What panels know of the app that they are in. Ends with True: the other recording is next."""

    state: var[State] = var(State)

    def __init__(self, feed: Feed, pair: Pair | None = None, **options: Any) -> None:
        super().__init__(**options)
        self.feed = feed
        self.pair = pair
        """Two recordings that are compared, the feed being one of them."""
        self.own_keys: Mapping[str, str] = {}
        """Those that the user has in place of ours, by command."""
        self.snapshots: Snapshots | None = None
        """The flight recorder beside a live view."""
        self.hidden_columns: frozenset[str] = frozenset()
        """Names of columns that tables leave out."""
        self._causes_wanted_by: set[object] = set()
        self.set_reactive(StatefulApp.state, State(feed.title, feed.interval_ns))

    @property
    def columns(self) -> NoiseColumns:
        """The noise of the CPUs over time, by number of the period or sample."""
        raise NotImplementedError

    def opens(self, key: str) -> bool:
        """Whether a key opens an overlay, whatever is shown."""
        raise NotImplementedError

    def open_overlay(self, key: str) -> None:
        """Opens the overlay of a key that opens() one."""
        raise NotImplementedError

    def open_row(self, row: object) -> None:
        """Opens the overlay for what was chosen."""
        raise NotImplementedError

    def view_file(self, path: Path) -> None:
        """Shows a recording on the same terminal until the user closes it."""
        raise NotImplementedError

    def open_moments(self) -> None:
        """Opens the list of all worst moments since the start."""
        raise NotImplementedError

    def show_period(self, number: int) -> bool:
        """Shows a period of the columns. False: its figures are gone."""
        raise NotImplementedError

    def want_causes(self, viewer: object, *, wanted: bool) -> None:
        """Somebody looks at causes, or no longer; the feed diagnoses while anybody does."""
        before = bool(self._causes_wanted_by)
        if wanted:
            self._causes_wanted_by.add(viewer)
        else:
            self._causes_wanted_by.discard(viewer)
        if bool(self._causes_wanted_by) is not before:
            self.feed.diagnose(wanted=not before)

    @property
    def kind(self) -> ViewKind:
        """What the view is over."""
        if self.pair is not None:
            return ViewKind.PAIR
        return ViewKind.LIVE if self.player is None else ViewKind.PLAYBACK

    @property
    def player(self) -> PlaybackFeed | None:
        """What plays the recording; None: the view is live."""
        return self.feed if isinstance(self.feed, PlaybackFeed) else None

    @property
    def covered(self) -> bool:
        """Whether an overlay lies over the main column, which stands still meanwhile."""
        raise NotImplementedError

    def uncover(self) -> None:
        """The last overlay has gone: all that came meanwhile is drawn."""
        self.state = replace(self.state)

    def change_view(self, view: View) -> None:
        """Shows other sources."""
        self.state = replace(self.state, view=view)
