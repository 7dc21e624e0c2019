"""Who triggered the noise of one source: command line, unit, stacks, and the remedy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from noisetop.columns.noise import SourceRow
from noisetop.columns.tasks import responsible_tid
from noisetop.columns.triggers import TriggerRow, is_known
from noisetop.diagnosis import Diagnosis
from noisetop.diagnosis.details import command, row, wrapped
from noisetop.diagnosis.evidence import Share
from noisetop.diagnosis.finding import Finding
from noisetop.events.task_directory import TaskDirectory
from noisetop.events.trigger import Trigger
from noisetop.text.units import format_count, format_ns
from noisetop.tui.drill_path import path_words
from noisetop.tui.keys import Key
from noisetop.tui.panels.cause import CauseRow
from noisetop.tui.state import State
from noisetop.tui.text_panel import TextPanel

_MARGIN, _LABELS = 6, 16
_FUNCTIONS = 8


@dataclass(frozen=True, slots=True)
class WhoRow:
    """One trigger of one source."""

    source: SourceRow
    who: TriggerRow


@dataclass(frozen=True, slots=True, eq=False)
class Taken:
    """What it is drawn from."""

    diagnosis: Diagnosis | None
    directory: TaskDirectory


class Who(TextPanel[Taken], can_focus=True):
    """Enter goes on to the cause that this is a part of."""

    TITLE = "Who"
    ORDER = 26
    KEYS = (Key("Enter", "on who triggered it: command line, unit, stacks; then the remedy"),)
    OPENED_ON = WhoRow
    WIDTH = 120

    def on_mount(self) -> None:
        """Asks the feed for a diagnosis: the remedy comes from it."""
        self.step = self.opened_on.who.label
        self.dashboard.want_causes(self, wanted=True)
        self.focus()

    def on_unmount(self) -> None:
        """Part of Textual."""
        self.dashboard.want_causes(self, wanted=False)

    def take(self, state: State) -> Taken:
        """The newest diagnosis, and who the tasks are."""
        latest = state.latest
        if latest is None:
            return Taken(None, TaskDirectory())
        return Taken(latest.diagnosis, latest.total.directory)

    def lines(self, taken: Taken) -> Iterable[str]:
        """Part of TextPanel."""
        self.heading = path_words(self.dashboard)
        opened: WhoRow = self.opened_on
        part = opened.who.part
        width = min(self.app.size.width, self.WIDTH) - _MARGIN - _LABELS
        yield from row("who", wrapped(opened.who.label, width))
        yield from _task_lines(part.trigger, taken.directory, width)
        took = f"{format_count(part.count)} interruptions, {format_ns(part.net_ns)} net"
        yield from row("triggered", [f"{took}, longest {format_ns(part.max_ns)}"])
        found = cause_of(opened, taken.diagnosis) if taken.diagnosis else None
        if found is None:
            yield from ("", "no cause is known" if taken.diagnosis else "collecting data")
            return
        finding, share = found
        for label, functions in (("stack", share.stack), ("program", share.user_stack)):
            if functions:
                yield from row(label, wrapped(" ← ".join(functions[:_FUNCTIONS]), width))
        yield ""
        yield from row("cause", wrapped(finding.cause, width))
        yield from row("remedy", command(finding.remedy, width))
        yield from ("", "    Enter shows evidence, undo and effect")

    def choose(self) -> bool:
        """Part of Panel: Enter shows the cause at length, above this."""
        latest = self.dashboard.state.latest
        diagnosis = latest.diagnosis if latest else None
        if diagnosis and (found := cause_of(self.opened_on, diagnosis)):
            self.dashboard.open_row(CauseRow(found[0].key))
        return False


def _task_lines(trigger: Trigger, directory: TaskDirectory, width: int) -> Iterator[str]:
    """The process that it goes back to, as far as that is known."""
    tid = responsible_tid(trigger) if is_known(trigger) else 0
    tid = tid or trigger.tid
    if not tid:
        return
    if line := directory.command(tid):
        yield from row("command", wrapped(line, width))
    if parent := directory.parent(tid):
        yield from row("started by", wrapped(directory.describe_process(parent), width))
    if label := directory.cgroup(tid).label:
        yield from row("unit", wrapped(label, width))


def cause_of(wanted: WhoRow, diagnosis: Diagnosis) -> tuple[Finding, Share] | None:
    """The most expensive cause with noise of that source by that trigger, and that noise; where
    none names the trigger, one with noise of the source. None: no cause has any."""
    path, trigger = wanted.source.source.source.path, wanted.who.part.trigger
    cpu = wanted.source.cpu
    fits = [
        (_by(trigger, share), finding.cost_ns, share.net_ns, finding, share)
        for finding in diagnosis.findings
        for share in finding.shares
        if path in (share.path, share.ran) and cpu in (None, share.cpu)
    ]
    best = max(fits, key=lambda one: one[:3], default=None)
    return (best[3], best[4]) if best else None


def _by(trigger: Trigger, share: Share) -> bool:
    if any(task.trigger.tid == trigger.tid for task in share.tasks):
        return True
    return bool(trigger.label) and share.trigger.label == trigger.label


PANELS = (Who,)
