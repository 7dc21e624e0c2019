"""The live dashboard: which samples are shown, and which panels there are."""

from __future__ import annotations

import asyncio
import datetime
import os
import threading
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from textual import on
from textual.app import ComposeResult, SystemCommand
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.worker import Worker, WorkerState

from noisetop.errors import NoisetopError
from noisetop.live.noise_columns import NoiseColumns, noise_column
from noisetop.live.pair import Pair
from noisetop.live.past_intervals import PastIntervals
from noisetop.live.position import Position
from noisetop.live.sample import Feed, Sample
from noisetop.live.snapshots import Snapshots
from noisetop.output import check_output
from noisetop.summary.summary import Summary
from noisetop.text.sanitize import printable
from noisetop.text.units import format_ns
from noisetop.tracing.capabilities import FILES, raised
from noisetop.tui.config import Config, config_path, config_text, read_config, write_config
from noisetop.tui.feed_reader import FeedReader, NewSample, Progress
from noisetop.tui.history import LENGTH, History
from noisetop.tui.keys import GENERAL, OPEN, QUIT, SWAP, Key, command_name, general_keys
from noisetop.tui.line_table import LineTable
from noisetop.tui.overlay_screen import OverlayScreen
from noisetop.tui.panel import Panel, Place
from noisetop.tui.panels import load_panels, panels_of
from noisetop.tui.panels.kept import KeptTable
from noisetop.tui.panels.moments import MomentTable
from noisetop.tui.recording_view import Told, show_file
from noisetop.tui.refresh import next_refresh
from noisetop.tui.screen_text import screen_text
from noisetop.tui.severity import use_palette
from noisetop.tui.state import StatefulApp, View
from noisetop.tui.terminal import TerminalDriver, keys_from_terminal, leave_on_signals
from noisetop.tui.themes import LOOKS, look_of_terminal, next_look

CHANGES = "Changes"
"""The panel that a view of two recordings begins with."""
_FRAME_S = 0.5
"""For the first frame, at most."""
_WRITTEN_S = 0.1
"""Until a frame that was drawn is on the terminal: another thread writes it, which waits for the
interpreter while a trace starts."""
_PANELS = {panel.__name__: panel for panel in load_panels()}


def _commands() -> dict[str, tuple[Key, str]]:
    """By name: the key, and the action of the app."""
    general = [(command_name(key.action), key, key.action) for key in (QUIT, SWAP, *GENERAL)]
    of_panels = [
        (command_name(key.action, name), key, f"panel('{name}', '{key.action}')")
        for name, panel in _PANELS.items()
        for key in panel.KEYS
    ]
    return {name: (key, action) for name, key, action in (*general, *of_panels) if key.names}


def _bindings() -> list[BindingType]:
    ours = [
        Binding(key.names, action, key.help, id=name) for name, (key, action) in _commands().items()
    ]
    return [Binding("ctrl+c", "quit", "quit", priority=True), *ours]


class Dashboard(StatefulApp):
    """Draws when a sample comes or a key is pressed, and at no other time."""

    CSS_PATH = Path(__file__).with_name("noisetop.tcss")
    BINDINGS: ClassVar[list[BindingType]] = _bindings()
    # What there is room for: noisetop.tcss goes by these.
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-broad")]  # noqa: RUF012
    VERTICAL_BREAKPOINTS = [(0, "-low"), (34, "-high")]  # noqa: RUF012

    def __init__(self, feed: Feed, refresh_ns: int | None = None, pair: Pair | None = None) -> None:
        super().__init__(feed, pair, driver_class=TerminalDriver)
        self.animation_level = "none"
        self.latest: Sample | None = None
        """Newer than the one in ``state`` where samples come faster than they are drawn."""
        self.history = History()
        self._columns = NoiseColumns()
        self._past = PastIntervals()
        self.feed_error: BaseException | None = None
        self.leaving = False
        config = read_config(config_path(), _commands())
        self.look = config.look or look_of_terminal(os.environ)
        """Name of how it is drawn."""
        self.refresh_ns = refresh_ns or config.refresh_ns
        self.own_keys, self.hidden_columns = config.keys, config.hidden
        self.set_keymap(dict(config.keys))
        self.begins_with = ""
        """Name of the panel that is open at the start."""
        self._reader = FeedReader(feed, self.post_message)
        self._frame_drawn = threading.Event()
        self._loop_in_use: asyncio.AbstractEventLoop | None = None
        self._usual_interval_ns = feed.interval_ns
        self._first_ns = 0
        self._drawn_ns = 0
        self._past_shown = 0
        """While it is paused: number of the interval that is shown, or was the newest then."""

    def compose(self) -> ComposeResult:
        """Part of Textual."""
        for panel in panels_of(self.kind):
            if panel.PLACE is Place.MAIN:
                yield panel()

    def on_mount(self) -> None:
        """Waits for samples; the panels have drawn the frame."""
        self._loop_in_use = asyncio.get_running_loop()
        self.show_look(self.look)
        if self.player is not None:
            self.player.on_progress = partial(self.post_message, Progress())
        if self.begins_with:
            self._open(_PANELS[self.begins_with])
        if self.leaving:
            self.exit()
        self.call_after_refresh(self.set_timer, _WRITTEN_S, self._frame_drawn.set)
        self.run_worker(self._read_feed, thread=True, exit_on_error=False, name="feed")

    def _read_feed(self) -> None:
        """What starts a trace takes a second, and the frame is to be seen before; an overlay that
        comes first covers it."""
        self._frame_drawn.wait(_FRAME_S)
        self._reader.run()

    @property
    def reader_ended(self) -> threading.Event:
        """Set when no thread waits for the feed any more."""
        return self._reader.ended

    def action_swap(self) -> None:
        """Ends this view for that of the other recording."""
        if self.pair is not None and self.latest is not None:
            self.exit(True)

    def on_unmount(self) -> None:
        """However the app ended."""
        self._reader.stop()
        self._frame_drawn.set()

    def leave(self) -> None:
        """Ends the app; callable from a signal handler at any time."""
        self.leaving = True
        if self._loop_in_use is not None and not self._loop_in_use.is_closed():
            self._loop_in_use.call_soon_threadsafe(self.exit)

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """The feed failed: leave, and let the caller have the error."""
        if event.state is WorkerState.ERROR:
            self.feed_error = event.worker.error
            self.exit()

    def _fatal_error(self) -> None:
        """In place of Textual's, which writes a traceback with all local variables; the error
        becomes one line in run_dashboard()."""
        self._close_messages_no_wait()

    @property
    def failure(self) -> BaseException | None:
        """What ended the app, if the user did not."""
        return self.feed_error or self._exception

    def on_new_sample(self, message: NewSample) -> None:
        """Draws a sample, unless the last drawing is too recent."""
        sample = message.sample
        if sample.position is not None:
            self._show_played(sample, sample.position)
            return
        if message.resets < self._reader.resets:
            if not sample.ended:
                return
            self.state = replace(self.state, since="reset" if message.resets else "start")
        now_ns = sample.total.end_ns
        self._first_ns = self._first_ns or sample.total.start_ns
        self.latest = sample
        self._note(sample.interval)
        # Half an interval of tolerance: samples do not come on the dot.
        due_ns = self._drawn_ns + self.refresh_ns - sample.interval.duration_ns // 2
        if self.refresh_ns and now_ns < due_ns and not sample.ended:
            return
        self._drawn_ns = now_ns
        self.state = self.state.with_sample(sample, now_ns - self._first_ns, self.history)

    def _note(self, interval: Summary) -> None:
        """Keeps what history, heat map and scrolling back need of an interval."""
        if interval.duration_ns > 0:
            column = noise_column(interval)
            self._columns.append(column)
            self._past.put(self._columns.newest, interval)
            self.history.add_column(column)

    @property
    def columns(self) -> NoiseColumns:
        """Part of StatefulApp."""
        return self._columns if self.player is None else self.player.columns

    def show_period(self, number: int) -> bool:
        """Part of StatefulApp."""
        if self.player is not None:
            self.player.go(self.player.wanted.at(number))
            return True
        interval = self._past.get(number)
        if interval is None or self.state.shown is None:
            return False
        since_start_ns = interval.start_ns - self._columns.origin_ns
        history = self._history_until(number + 1)
        self.state = self.state.with_past(interval, since_start_ns, history)
        self._past_shown = number
        return True

    def action_step(self, by: int) -> None:
        """So many periods further or back; live through those that are kept, and on from the
        newest."""
        if self.player is not None:
            self.player.go(self.player.wanted.stepped(by))
            return
        newest = self._columns.newest
        at = self._past_shown if self.state.paused else newest
        if by > 0 and at + by > newest:
            if self.state.paused:
                self.action_pause()
        elif self._past.first >= 0:
            self.show_period(max(at + by, self._past.first))

    def on_progress(self, message: Progress) -> None:
        """More is known of a recording."""
        if self.player is not None:
            position = self.player.wanted
            state = replace(self.state, progress=self.state.progress + 1)
            self.state = state.with_history(self._history_until(position.until))

    def _show_played(self, sample: Sample, position: Position) -> None:
        self.latest = sample
        history = self._history_until(position.until)
        self.state = self.state.with_sample(sample, sample.total.duration_ns, history)

    def _history_until(self, until: int) -> History:
        """Of the periods up to a number, as far as they are known."""
        history = History()
        for number in range(max(until - LENGTH, 0), until):
            if column := self.columns.get(number):
                history.add_column(column)
        return history

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """Part of Textual: what the command palette offers, our own commands alone."""
        for panel in panels_of(self.kind):
            for key in panel.KEYS:
                if key.names:
                    action = f"panel('{panel.__name__}', '{key.action}')"
                    yield self._command(key, action)
        for key in (QUIT, *general_keys(self.kind)):
            if key.names:
                yield self._command(key, key.action)

    def _command(self, key: Key, action: str) -> SystemCommand:
        title = key.help[:1].upper() + key.help[1:]
        return SystemCommand(
            title, f"key {key.label or key.names}", partial(self.run_action, action)
        )

    def show_look(self, name: str) -> None:
        """Draws everything in the look of that name."""
        self.look = name
        look = LOOKS[name]
        use_palette(look.palette)
        self.theme = look.theme(self.available_themes)
        for screen in self.screen_stack:
            screen.refresh(layout=True)
        self.state = replace(self.state)

    def action_look(self) -> None:
        """The next look."""
        self.show_look(next_look(self.look))
        self.notify(f"theme: {self.look}", timeout=2)

    def action_save(self, suffix: str) -> None:
        """Writes what the screen shows into a file in the current folder."""
        path = Path(f"noisetop-{datetime.datetime.now():%Y%m%dT%H%M%S}.{suffix}")
        content = self.export_screenshot() if suffix == "svg" else screen_text(self.screen)
        try:
            with raised(FILES), check_output(path, force=True).opened() as file:
                file.write(content.encode())
        except NoisetopError as error:
            self.notify(str(error), severity="error")
            return
        self.notify(f"saved {path}", timeout=3)

    def action_write_config(self) -> None:
        """Writes the present settings where the next start finds them."""
        path = config_path()
        config = Config(self.look, self.refresh_ns, self.hidden_columns, self.own_keys)
        known = {name: (key.names, key.help) for name, (key, _) in _commands().items()}
        try:
            write_config(path, config_text(config, known))
        except NoisetopError as error:
            self.notify(str(error), severity="error", markup=False)
            return
        self.notify(f"written: {path}", timeout=3, markup=False)

    async def action_panel(self, name: str, action: str) -> None:
        """A key of a panel: opens an overlay, or calls the panel's own action."""
        panel = _PANELS[name]
        if panel.PLACE is Place.OVERLAY and action == OPEN:
            self._open_from_key(panel)
        else:
            for shown in self.screen.query(panel):  # none: it is not a part of this view
                await self.run_action(action, shown)

    def _open_from_key(self, panel: type[Panel[Any]]) -> None:
        if panel.OPENED_ON is None:
            self._open(panel)
            return
        for table in self.screen.query(LineTable):
            row = table.row_at_cursor()
            if isinstance(row, panel.OPENED_ON):
                self._open(panel, row)
                return

    def _overlay_of(self, key: str) -> type[Panel[Any]] | None:
        for panel in panels_of(self.kind):
            if panel.PLACE is not Place.OVERLAY or panel.OPENED_ON is not None:
                continue
            own = self.own_keys.get(command_name(OPEN, panel.__name__))
            names = [own or one.names for one in panel.KEYS if one.action == OPEN]
            if key in ",".join(names).split(","):
                return panel
        return None

    def opens(self, key: str) -> bool:
        """See StatefulApp."""
        return self._overlay_of(key) is not None

    def open_overlay(self, key: str) -> None:
        """See StatefulApp."""
        if (panel := self._overlay_of(key)) is not None:
            self._open(panel)

    def _open(self, panel: type[Panel[Any]], row: object = None) -> None:
        if panel is MomentTable and self.snapshots and self.snapshots.kept() is not None:
            panel = KeptTable
        opened = panel()
        opened.opened_on = row
        self.push_screen(OverlayScreen(opened))

    @on(LineTable.Chosen)
    def _row_chosen(self, event: LineTable.Chosen) -> None:
        self.open_row(event.row)

    def open_row(self, row: object) -> None:
        """See StatefulApp."""
        for panel in _PANELS.values():
            if panel.OPENED_ON is not None and panel.BY_ENTER and isinstance(row, panel.OPENED_ON):
                self._open(panel, row)
                return

    @property
    def covered(self) -> bool:
        """See StatefulApp."""
        return any(isinstance(screen, OverlayScreen) for screen in self.screen_stack)

    def action_snapshot(self) -> None:
        """Has the last seconds written; the file is told when it is there."""
        if self.snapshots is None or (self.latest is not None and self.latest.ended):
            self.notify("there is nothing to write: the trace has ended", severity="warning")
            return
        self.snapshots.ask()
        self.notify(f"writing the last {format_ns(self.snapshots.keep_ns)}", timeout=3)

    def with_snapshots(self, snapshots: Snapshots | None) -> None:
        """Shows what the flight recorder says."""
        self.snapshots = snapshots
        if snapshots is not None:
            snapshots.on_message = lambda text: self.post_message(Told(text))

    def on_told(self, message: Told) -> None:
        """A line of the flight recorder."""
        self.notify(printable(message.text), timeout=10, markup=False)

    def open_moments(self) -> None:
        """See StatefulApp."""
        self.push_screen(OverlayScreen(MomentTable()))

    def view_file(self, path: Path) -> None:
        """See StatefulApp."""
        self._reader.hold(wanted=True)
        try:
            with self.suspend():
                show_file(path, lambda: self.leaving)
        finally:
            self._reader.hold(wanted=False)
        self.refresh(layout=True)

    def action_pause(self) -> None:
        """Freezes the tables, or lets them go on with the latest sample; plays a recording."""
        if self.player is not None:
            self.player.go(self.player.wanted.played())
            return
        history = self.history if self.state.paused else self.history.copy()
        self._past_shown = self._columns.newest
        self.state = self.state.with_pause(history)

    def action_reset(self) -> None:
        """Resets the counters."""
        if self.player is not None or self.latest is None or self.latest.ended:
            return
        self._reader.reset()
        self.latest = None
        self.history.clear()
        self._columns.clear()
        self._past.clear()
        self._drawn_ns = 0
        self.state = self.state.after_reset()

    def action_faster(self) -> None:
        """Draws more often; plays faster."""
        self._change_speed(1)

    def action_slower(self) -> None:
        """Draws less often; plays slower."""
        self._change_speed(-1)

    def _change_speed(self, by: int) -> None:
        if self.player is not None:
            self.player.go(self.player.wanted.faster(by))
            return
        now_ns = max(self.refresh_ns, self.feed.interval_ns)
        self.refresh_ns = next_refresh(now_ns, by)
        # A sample is what there is to draw: none comes in vain, and none is waited for.
        self.feed.interval_ns = min(self.refresh_ns, self._usual_interval_ns)
        self.notify(f"refresh: every {format_ns(self.refresh_ns)}", timeout=2)

    def action_last_only(self) -> None:
        """Figures since the start, or of the last interval only."""
        if self.player is not None:
            self.player.go(self.player.wanted.toggled())
            return
        self.state = self.state.with_other_period()


def run_dashboard(
    feed: Feed, *, refresh_ns: int | None = None, snapshots: Snapshots | None = None
) -> None:
    """Shows the feed until the user quits, a signal asks to, or the terminal is closed.

    ``snapshots``: the flight recorder beside it.
    ``refresh_ns``: at least this much between two drawings; None: every sample is drawn. Errors of
    the feed are raised once the terminal is as it was; any other failure becomes a NoisetopError.
    """
    app = Dashboard(feed, refresh_ns)
    app.with_snapshots(snapshots)
    try:
        _run(app)
    finally:
        if snapshots is not None:
            snapshots.on_message = None


def run_pair(pair: Pair) -> None:
    """Shows two recordings, now the one and now the other, until the user quits; else as
    run_dashboard()."""
    view, first = View(), True
    while True:
        app = Dashboard(pair.shown, pair=pair)
        app.change_view(view)
        app.begins_with = CHANGES if first else ""
        if not _run(app):
            return
        view, first = app.state.view, False
        app.reader_ended.wait()
        pair.swap()


def _run(app: Dashboard) -> bool:
    """Whether the other recording is to be shown next."""
    with keys_from_terminal(), leave_on_signals(app.leave):
        if not app.feed.interrupted:  # before there was a view that a signal could end
            app.run()
    error = app.failure
    if isinstance(error, NoisetopError):
        raise error
    if error is not None:
        raise NoisetopError(f"the dashboard failed: {type(error).__name__}: {error}") from error
    return bool(app.return_value)
