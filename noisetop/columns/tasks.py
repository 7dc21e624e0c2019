"""Who tasks are, in words: process, unit and container, and those that are started all the time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from noisetop.events.task_directory import TaskDirectory
from noisetop.events.trigger import Trigger
from noisetop.summary.short_lived import STARTED, ShortLived, starter_of
from noisetop.summary.summary import SourceSummary, Summary
from noisetop.summary.trigger_totals import OTHERS, TriggerSummary, summed
from noisetop.text.column import Column, per_second, show_count, show_ns, show_rate
from noisetop.text.sanitize import printable

UNKNOWN = "unknown"
NOBODY = "nobody known"
"""Who woke a thread that goes on after it was preempted, or whose wake-up was not seen."""


def described(trigger: Trigger, directory: TaskDirectory) -> str:
    """Who did it, what that belongs to and where, in one line, harmless on a terminal."""
    if not trigger.label:
        return UNKNOWN
    about = directory.about(responsible_tid(trigger))
    where = f" on CPU {trigger.cpu}" if trigger.task and trigger.cpu >= 0 else ""
    return printable(f"{trigger.label} ({about}){where}" if about else f"{trigger.label}{where}")


def responsible_tid(trigger: Trigger) -> int:
    """The task that a trigger goes back to; 0: none."""
    if trigger.origin:
        number = trigger.origin.rpartition(" ")[2]
        return int(number) if number.isdecimal() else 0
    return trigger.tid if trigger.task else 0


@dataclass(frozen=True, slots=True)
class NamedShare:
    """What somebody took, under a name that is harmless on a terminal."""

    label: str
    part: TriggerSummary


@dataclass(slots=True)
class TaskNamer:
    """Names the tasks of a summary; those that one process starts all the time have one name."""

    summary: Summary
    _short_lived: dict[tuple[str, int], ShortLived] = field(init=False)

    def __post_init__(self) -> None:
        self._short_lived = {(one.name, one.starter): one for one in self.summary.short_lived}

    def name(self, tid: int) -> str:
        """``redis-server 1234 (unit redis.service)``; harmless on a terminal."""
        return printable(self.summary.directory.describe(tid))

    def short_lived(self, tid: int) -> ShortLived | None:
        """The row that a task belongs to."""
        directory = self.summary.directory
        key = directory.name(tid), starter_of(tid, directory.infos.get(tid))
        return self._short_lived.get(key)

    def _started(self, one: ShortLived) -> str:
        return f"{printable(one.name)}, {starts_text(one, self.summary)}"

    def triggers_of(self, source: SourceSummary) -> list[NamedShare]:
        """Who triggered a source, largest first; of a thread these woke it."""
        nobody = NOBODY if source.source.noise_class == "thread" else UNKNOWN
        return _merged(
            (self._trigger(one.trigger) if one.trigger.label else nobody, one)
            for one in source.triggers
        )

    def _trigger(self, trigger: Trigger) -> str:
        acted = trigger.task and not trigger.work
        if acted and (one := self.short_lived(trigger.tid)):
            return self._started(one)
        return described(trigger, self.summary.directory)

    def number(self, tid: int) -> str:
        """The same without the name: ``1234 (unit redis.service)``."""
        about = self.summary.directory.about(tid)
        return printable(f"{tid} ({about})" if about else str(tid))

    def programs_of(self, source: SourceSummary) -> list[NamedShare]:
        """The tasks that a thread source stands for, largest first; none of other sources, and none
        of the kernel's threads."""
        if not self._is_of_program(source):
            return []
        return _merged((self._of_task(one.trigger, source), one) for one in source.tasks)

    def _of_task(self, ran: Trigger, source: SourceSummary) -> str:
        if ran == OTHERS:
            return f"other tasks named {printable(source.source.path[-1])}"
        if ran.context == STARTED:
            return self._started(self._short_lived[ran.task, ran.tid])
        return self.name(ran.tid)

    def is_program(self, tid: int) -> bool:
        """Whether it is known, and no thread of the kernel: those work for somebody else."""
        info = self.summary.directory.infos.get(tid)
        return info is not None and not info.kernel

    def _is_of_program(self, source: SourceSummary) -> bool:
        tasks = (one.trigger for one in source.tasks)
        return any(one.context == STARTED or self.is_program(one.tid) for one in tasks)

    def culprits(self) -> list[NamedShare]:
        """Who is behind the noise that is not self-inflicted: programs that ran themselves, else
        what triggered it. Largest first, unknown ones last; without overlap."""
        found = _merged(
            named for one in self.summary.all_cpus().external for named in self._culprits_of(one)
        )
        return sorted(found, key=lambda one: one.label == UNKNOWN)

    def culprits_of(self, source: SourceSummary) -> list[NamedShare]:
        """The same of one source."""
        found = _merged(self._culprits_of(source))
        return sorted(found, key=lambda one: one.label == UNKNOWN)

    def _culprits_of(self, source: SourceSummary) -> Iterable[tuple[str, TriggerSummary]]:
        if self._is_of_program(source):
            return [(self._of_task(one.trigger, source), one) for one in source.tasks]
        # A thread of the kernel that nobody is known to have woken stands for itself.
        alone = source.tasks[0].trigger if len(source.tasks) == 1 else Trigger()
        unknown = self._of_task(alone, source) if alone.tid else UNKNOWN
        return [
            (self._trigger(one.trigger) if one.trigger.label else unknown, one)
            for one in source.triggers
        ]


def _merged(parts: Iterable[tuple[str, TriggerSummary]]) -> list[NamedShare]:
    """Those of one name as one, largest first."""
    by_label: dict[str, list[TriggerSummary]] = {}
    for label, part in parts:
        by_label.setdefault(label, []).append(part)
    found = [NamedShare(label, summed(same[0].trigger, same)) for label, same in by_label.items()]
    return sorted(found, key=lambda one: (-one.part.rank_ns, -one.part.count, one.label))


def starts_text(one: ShortLived, summary: Summary) -> str:
    """``24 starts/s by cronish.sh (PID 4711, unit cron.service)``."""
    rate = show_rate(per_second(one.starts, summary.duration_ns))
    return printable(f"{rate} starts/s by {summary.directory.describe_process(one.starter)}")


@dataclass(frozen=True, slots=True)
class ShortLivedRow:
    """What the columns of short-lived tasks are computed from."""

    one: ShortLived
    starter: str
    """Harmless on a terminal."""
    duration_ns: int


def short_lived_rows(summary: Summary) -> list[ShortLivedRow]:
    """A row for each name and starter, most starts first."""
    describe = summary.directory.describe_process
    return [
        ShortLivedRow(one, printable(describe(one.starter)), summary.duration_ns)
        for one in summary.short_lived
    ]


SHORT_LIVED: tuple[Column[ShortLivedRow], ...] = (
    Column(
        "starts_per_s", "Starts/s", "1/s", 8,
        lambda row: per_second(row.one.starts, row.duration_ns), show_rate,
        "tasks of this name started per second that took time of a victim",
    ),
    Column(
        "starts", "Starts", "", 7, lambda row: row.one.starts, show_count,
        "how many there were in the period",
    ),
    Column(
        "net_ns", "Total", "ns", 7, lambda row: row.one.net_ns, show_ns,
        "net time that they ran in place of victims",
    ),
    Column(
        "task", "Task", "", 16, lambda row: printable(row.one.name), str,
        "what they are called", left=True,
    ),
    Column(
        "starter", "Started by", "", 24, lambda row: row.starter, str,
        "the process that started them", left=True,
    ),
)  # fmt: skip
