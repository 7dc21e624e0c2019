"""The part of the report with the command lines of everybody who is named in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from noisetop.columns.tasks import TaskNamer
from noisetop.events.task_directory import TaskDirectory
from noisetop.summary.short_lived import STARTED
from noisetop.summary.summary import Summary
from noisetop.summary.worst import WorstInterruption
from noisetop.text.column import Column, aligned
from noisetop.text.sanitize import printable


@dataclass(frozen=True, slots=True)
class ProcessRow:
    """What the columns of a process are computed from. Texts are harmless on a terminal."""

    pid: int
    name: str
    parent: str
    group: str
    command: str


def process_lines(summary: Summary, worst: Iterable[WorstInterruption]) -> Iterator[str]:
    """A line for each process that lost time, took it or had it taken, by PID, but for short-lived
    ones, which have a table of their own; nothing where none is known."""
    directory, namer = summary.directory, TaskNamer(summary)
    tids = set(_tids(summary, worst)) | {one.starter for one in summary.short_lived}
    shown = (tid for tid in tids if namer.is_program(tid) and not namer.short_lived(tid))
    pids = {directory.pid(tid) for tid in shown}
    if rows := [_row(pid, directory) for pid in sorted(pids - {0}) if directory.name(pid)]:
        yield from aligned(_COLUMNS, rows)


def _tids(summary: Summary, worst: Iterable[WorstInterruption]) -> Iterator[int]:
    for source in summary.all_cpus().sources:
        triggers = (one.trigger for one in (*source.tasks, *source.triggers))
        yield from (one.tid for one in triggers if one.context != STARTED)
    yield from (one.time.tid for one in summary.victims)
    for one in worst:
        yield one.victim_tid
        yield from (tid for part in one.parts for tid in (part.tid, part.trigger.tid))


def _row(pid: int, directory: TaskDirectory) -> ProcessRow:
    parent = directory.parent(pid)
    return ProcessRow(
        pid,
        printable(directory.name(pid)),
        printable(f"{directory.name(parent)} {parent}".strip()) if parent else "",
        printable(directory.cgroup(pid).label),
        printable(directory.command(pid)),
    )


def _text(value: object) -> str:
    return str(value)


_COLUMNS: tuple[Column[ProcessRow], ...] = (
    Column("pid", "PID", "", 7, lambda row: row.pid, _text, "process"),
    Column("name", "Name", "", 15, lambda row: row.name, _text, "of its first thread", left=True),
    Column(
        "parent", "Parent", "", 15, lambda row: row.parent or None, _text,
        "process that started it", left=True,
    ),
    Column(
        "group", "Part of", "", 20, lambda row: row.group or None, _text,
        "systemd unit, container, pod or control group", left=True,
    ),
    Column(
        "command", "Command", "", 20, lambda row: row.command or None, _text,
        "its arguments; none: a thread of the kernel, or gone before it could be read", left=True,
    ),
)  # fmt: skip
