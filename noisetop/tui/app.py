"""The live dashboard: which samples are shown, and what the keys do."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from textual import on
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Input
from textual.worker import Worker, WorkerState

from noisetop.columns import CpuRow, SourceRow
from noisetop.errors import NoisetopError
from noisetop.hardware_figures import brief_line
from noisetop.live import Feed, Sample
from noisetop.sanitize import printable
from noisetop.summary import CpuSummary
from noisetop.tui.apart_lines import ApartLines
from noisetop.tui.causes_screen import CausesScreen
from noisetop.tui.cpu_table import CpuTable
from noisetop.tui.feed_reader import FeedReader, NewSample
from noisetop.tui.foot_lines import FootLines
from noisetop.tui.hardware_screen import HardwareScreen
from noisetop.tui.head_line import HeadLine
from noisetop.tui.help_screen import HelpScreen
from noisetop.tui.history import History
from noisetop.tui.line_table import LineTable
from noisetop.tui.source_table import SourceTable, View
from noisetop.tui.terminal import TerminalDriver, keys_from_terminal, leave_on_signals
from noisetop.tui.text_line import TextLine
from noisetop.tui.trigger_screen import TriggerScreen


class Dashboard(App[None]):
    """Draws when a sample comes or a key is pressed, and at no other time."""

    CSS_PATH = Path(__file__).with_name("noisetop.tcss")
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "quit", "quit"),
        Binding("ctrl+c", "quit", "quit", priority=True),
        Binding("h,question_mark", "help", "help"),
        Binding("slash,f", "filter", "filter"),
        Binding("s", "sort", "sort"),
        Binding("S", "reverse", "reverse"),
        Binding("p,space", "pause", "pause"),
        Binding("r", "reset", "reset"),
        Binding("b", "causes", "by whom"),
        Binding("w", "hardware", "hardware"),
        Binding("d", "diagnose", "diagnose"),
        Binding("c", "per_cpu", "per CPU"),
        Binding("i", "idle", "idle"),
        Binding("t", "last_only", "last interval"),
        Binding("escape", "widen", "widen"),
    ]

    def __init__(self, feed: Feed, refresh_ns: int | None = None) -> None:
        super().__init__(driver_class=TerminalDriver)
        self.animation_level = "none"
        self.feed = feed
        self.refresh_ns = refresh_ns or 0
        self.latest: Sample | None = None
        self.shown: Sample | None = None
        """What the tables show; older than ``latest`` while paused."""
        self.history = History()
        self.view = View()
        self.paused = False
        self.last_only = False
        self.since = "start"
        self.feed_error: BaseException | None = None
        self.leaving = False
        self._reader = FeedReader(feed, self.post_message)
        self._loop_in_use: asyncio.AbstractEventLoop | None = None
        self._first_ns = 0
        self._drawn_ns = 0
        self._shown_history = self.history

    def compose(self) -> ComposeResult:
        """Part of Textual."""
        yield HeadLine(id="head")
        yield CpuTable(id="cpus")
        yield TextLine(id="source-title")
        yield SourceTable(id="sources")
        filter_input = Input(id="filter", placeholder="part of a source's path", compact=True)
        filter_input.cursor_blink = False
        yield filter_input
        yield ApartLines(id="apart")
        yield TextLine(id="hardware")
        yield FootLines(id="foot")

    def on_mount(self) -> None:
        """Draws the frame, then waits for samples."""
        self._loop_in_use = asyncio.get_running_loop()
        self.head = self.query_one(HeadLine)
        self.foot = self.query_one(FootLines)
        self.cpus = self.query_one(CpuTable)
        self.sources = self.query_one(SourceTable)
        self.apart = self.query_one(ApartLines)
        self.hardware = self.query_one("#hardware", TextLine)
        self.source_title = self.query_one("#source-title", TextLine)
        self.filter_input = self.query_one("#filter", Input)
        self.sources.focus()
        self._show_waiting()
        self.run_worker(self._reader.run, thread=True, exit_on_error=False, name="feed")
        if self.leaving:
            self.exit()

    def on_unmount(self) -> None:
        """However the app ended."""
        self._reader.stop()

    def leave(self) -> None:
        """Ends the app; callable from a signal handler at any time."""
        self.leaving = True
        if self._loop_in_use is not None:
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
        """What ended the app, if it was no wish of the user."""
        return self.feed_error or self._exception

    def on_new_sample(self, message: NewSample) -> None:
        """Draws a sample, unless the last drawing is too recent or the tables are frozen."""
        sample = message.sample
        if message.resets < self._reader.resets:
            if not sample.ended:
                return
            self.since = "reset" if message.resets else "start"
        if not self._first_ns:
            self._first_ns = sample.total.start_ns
        self.latest = sample
        self.history.add(sample.interval)
        now_ns = sample.total.end_ns
        # Half an interval of tolerance: samples do not come on the dot.
        due_ns = self._drawn_ns + self.refresh_ns - sample.interval.duration_ns // 2
        if self.refresh_ns and now_ns < due_ns and not sample.ended:
            return
        self._drawn_ns = now_ns
        if isinstance(self.screen, CausesScreen) and sample.diagnosis is not None:
            self.screen.show_diagnosis(sample.diagnosis)
        if not self.paused:
            self._show_latest()
        self._show_time()

    def _show_latest(self) -> None:
        self.shown, self._shown_history = self.latest, self.history
        self._show_tables()

    def _show_waiting(self) -> None:
        self.head.show_waiting(self.feed.title, self.feed.interval_ns)
        self.foot.show_waiting()
        self.cpus.show_nothing()
        self.sources.show_nothing()
        self.apart.show_nothing()
        self.hardware.show()
        self._show_source_title()

    def _show_time(self) -> None:
        if self.latest is None or self.shown is None:
            return
        self.head.show_sample(
            self.feed.title,
            self.latest,
            self.shown,
            since=self.since,
            last_only=self.last_only,
            paused=self.paused,
        )
        running_ns = self.latest.total.end_ns - self._first_ns
        self.foot.show_summary(self.latest.total, running_ns)

    def _show_tables(self) -> None:
        if self.shown is None:
            return
        summary = self.shown.interval if self.last_only else self.shown.total
        everywhere: CpuSummary = summary.all_cpus()
        self.cpus.show_summary(summary, everywhere, self._shown_history)
        self.sources.show_summary(summary, everywhere, self.view)
        chosen = [cpu for cpu in summary.cpus if cpu.cpu == self.view.cpu]
        self.apart.show_summary(summary, chosen[0] if chosen else everywhere)
        hardware = brief_line(summary.hardware, summary.duration_ns) or "nothing is told"
        self.hardware.show(f"hardware (w)  {printable(hardware)}")
        self._show_source_title()
        if isinstance(self.screen, HardwareScreen):
            self.screen.show_summary(summary)
        if isinstance(self.screen, TriggerScreen):
            key = self.sources.key_of(self.screen.row)
            for row in self.sources.rows:
                if self.sources.key_of(row) == key:
                    self.screen.show_row(row)

    def _show_source_title(self) -> None:
        view = self.view
        where = "all CPUs" if view.cpu is None else f"CPU {view.cpu} (Esc: all)"
        if view.per_cpu and view.cpu is None:
            where = "each CPU"
        parts = [f"Sources on {where} by {self.sources.sort_title}"]
        if view.filter:
            parts.append(f"with '{printable(view.filter)}' (Esc clears)")
        if view.idle:
            parts.append("and what ran idle")
        self.source_title.show("  ".join(parts))

    def _change_view(self, view: View) -> None:
        self.view = view
        self._show_tables()
        self._show_source_title()

    def _focused_table(self) -> LineTable[CpuRow] | LineTable[SourceRow]:
        return self.cpus if self.cpus.has_focus else self.sources

    def action_help(self) -> None:
        """Keys, words, columns, missing sources."""
        self.push_screen(HelpScreen(self.latest.total.missing if self.latest else ()))

    def action_causes(self) -> None:
        """Who caused the source that has the cursor."""
        row = self.sources.row_at_cursor()
        if row is not None:
            self.push_screen(TriggerScreen(row))

    def action_hardware(self) -> None:
        """What the machine itself admits to, each figure with its resolution."""
        if self.shown is not None:
            summary = self.shown.interval if self.last_only else self.shown.total
            self.push_screen(HardwareScreen(summary))

    def action_diagnose(self) -> None:
        """What causes the noise, and what to do about it."""
        self.feed.diagnose(wanted=True)
        self.push_screen(CausesScreen(), lambda _: self.feed.diagnose(wanted=False))

    def action_sort(self) -> None:
        """Sorts the table with the focus by its next column."""
        self._focused_table().sort_by_next()

    def action_reverse(self) -> None:
        """Turns the order of the table with the focus round."""
        self._focused_table().reverse_sort()

    def action_pause(self) -> None:
        """Freezes the tables, or lets them go on with the latest sample."""
        if self.shown is None:
            return
        self.paused = not self.paused
        if self.paused:
            self._shown_history = self.history.copy()
            self._show_tables()
        else:
            self._show_latest()
        self._show_time()

    def action_reset(self) -> None:
        """Counts from now on."""
        if self.latest is None or self.latest.ended:
            return
        self._reader.reset()
        self.since = "reset"
        self.paused = False
        self.latest = self.shown = None
        self.history.clear()
        self._drawn_ns = 0
        self._show_waiting()

    def action_per_cpu(self) -> None:
        """Sources of all CPUs together, or a row per CPU and source."""
        self._change_view(replace(self.view, per_cpu=not self.view.per_cpu, cpu=None))

    def action_idle(self) -> None:
        """Shows or hides what ran while the CPU was idle."""
        self._change_view(replace(self.view, idle=not self.view.idle))

    def action_last_only(self) -> None:
        """Figures since the start, or of the last interval alone."""
        self.last_only = not self.last_only
        self._show_tables()
        self._show_time()

    def action_filter(self) -> None:
        """Opens the line for the filter."""
        self.filter_input.add_class("open")
        self.filter_input.focus()

    def action_widen(self) -> None:
        """Clears the filter; with none, goes back to all CPUs."""
        if self.view.filter or self.filter_input.has_class("open"):
            self.filter_input.value = ""
            self._change_view(replace(self.view, filter=""))
            self._close_filter()
        else:
            self._change_view(replace(self.view, cpu=None))

    def _close_filter(self) -> None:
        self.filter_input.remove_class("open")
        self.sources.focus()

    @on(Input.Changed, "#filter")
    def _filter_changed(self, event: Input.Changed) -> None:
        if event.value != self.view.filter:
            self._change_view(replace(self.view, filter=event.value))

    @on(Input.Submitted, "#filter")
    def _filter_kept(self) -> None:
        self._close_filter()

    @on(LineTable.Sorted)
    def _order_changed(self) -> None:
        self._show_source_title()

    @on(LineTable.Chosen)
    def _row_chosen(self, event: LineTable.Chosen) -> None:
        if isinstance(event.row, CpuRow):
            self._change_view(replace(self.view, cpu=event.row.cpu.cpu, per_cpu=False))
        elif isinstance(event.row, SourceRow):
            self.push_screen(TriggerScreen(event.row))


def run_dashboard(feed: Feed, *, refresh_ns: int | None = None) -> None:
    """Shows the feed until the user quits, a signal asks to, or the terminal is closed.

    ``refresh_ns``: at least this much between two drawings; None: every sample is drawn. Errors of
    the feed are raised once the terminal is as it was; any other failure becomes a NoisetopError.
    """
    app = Dashboard(feed, refresh_ns)
    with keys_from_terminal(), leave_on_signals(app.leave):
        app.run()
    error = app.failure
    if isinstance(error, NoisetopError):
        raise error
    if error is not None:
        raise NoisetopError(f"the dashboard failed: {type(error).__name__}: {error}") from error
