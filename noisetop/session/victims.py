"""Processes and threads as the options name them, by number or by name."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence

from noisetop.errors import UsageError
from noisetop.machine.files import Files
from noisetop.machine.find_tasks import (
    FoundTask,
    find_task,
    processes_named,
    threads_named,
)
from noisetop.text.sanitize import printable
from noisetop.tracing.target import Target

_LISTED = 6
_COMMAND_SHOWN = 40
_TOO_LARGE = 10
"""Digits of a number that is no PID any more."""
_SERVES_SOFTIRQS = ("ksoftirqd/", "ktimers/")


def process_target(wanted: str, cpus: tuple[int, ...], files: Files, *, follow: bool) -> Target:
    """Processes of a list like ``1234,redis-server``. Raises UsageError where one is none, or where
    a name is that of several."""
    found = [one for word in _words(wanted, "-p") for one in _processes(word, files)]
    tasks = _without_repetition(found)
    pids = tuple(one.pid for one in tasks)
    title = _title("PID", pids, tasks)
    if len(pids) == 1:
        return Target(cpus, pid=pids[0], title=title, follow=follow)
    return Target(cpus, pids=pids, title=title, follow=follow)


def thread_target(wanted: str, cpus: tuple[int, ...], files: Files) -> Target:
    """Threads of a list like ``1235,io_thd_1``. Raises UsageError as process_target()."""
    found = [one for word in _words(wanted, "-t") for one in _threads(word, files)]
    tasks = _without_repetition(found)
    tids = tuple(one.tid for one in tasks)
    return Target(cpus, tids=tids, title=_title("TID", tids, tasks))


def _words(wanted: str, option: str) -> list[str]:
    words = [word.strip() for word in wanted.split(",")]
    if not all(words):
        raise UsageError(f"{option} takes numbers or names separated by commas: {option} 1234,name")
    return words


def _without_repetition(found: Iterable[FoundTask]) -> list[FoundTask]:
    return list({one.tid: one for one in found}.values())


def _processes(word: str, files: Files) -> list[FoundTask]:
    if not word.isascii() or not word.isdecimal():
        return [_only(word, processes_named(word, files), "-p", lambda one: one.pid)]
    task = find_task(int(word), files) if len(word) <= _TOO_LARGE else None
    if task is None:
        raise UsageError(f"there is no process {word}: see ps -e")
    if task.pid != task.tid:
        use = f"use -p {task.pid}, or -t {word}"
        raise UsageError(f"{word} is a thread of process {task.pid}: {use}")
    return [_checked(task)]


def _threads(word: str, files: Files) -> list[FoundTask]:
    if not word.isascii() or not word.isdecimal():
        return [_only(word, threads_named(word, files), "-t", lambda one: one.tid)]
    task = find_task(int(word), files) if len(word) <= _TOO_LARGE else None
    if task is None:
        raise UsageError(f"there is no thread {word}: see ps -eL")
    return [_checked(task)]


def _only(
    name: str, found: Sequence[FoundTask], option: str, number: Callable[[FoundTask], int]
) -> FoundTask:
    """The only one of a name; that noisetop itself goes by it does not count."""
    others = [one for one in found if one.pid != os.getpid()]
    what = "process" if option == "-p" else "thread"
    if not others:
        see = "ps -e" if option == "-p" else "ps -eL"
        raise UsageError(f"there is no {what} named '{printable(name)}': see {see}")
    if len(others) > 1:
        plural = "processes" if option == "-p" else "threads"
        listed = "; ".join(_candidate(number(one), one) for one in others[:_LISTED])
        more = f"; and {len(others) - _LISTED} more" if len(others) > _LISTED else ""
        numbers = ",".join(str(number(one)) for one in others)
        raise UsageError(
            f"'{printable(name)}' names {len(others)} {plural}: {listed}{more}: "
            f"use {option} {number(others[0])}, or {option} {numbers} for all"
        )
    return _checked(others[0])


def _candidate(number: int, one: FoundTask) -> str:
    command = printable(one.command or one.name)
    shown = command if len(command) <= _COMMAND_SHOWN else f"{command[: _COMMAND_SHOWN - 1]}…"
    return f"{number} ({shown})"


def _checked(task: FoundTask) -> FoundTask:
    if task.name.startswith(_SERVES_SOFTIRQS) and not task.command:
        name = printable(task.name)
        raise UsageError(
            f"{name} serves softirqs, which are noise themselves: watch its CPU with "
            f"-c {name.rpartition('/')[2]}"
        )
    return task


def _title(noun: str, numbers: Sequence[int], tasks: Sequence[FoundTask]) -> str:
    """``PID 1234 (redis-server)``."""
    names = ", ".join(dict.fromkeys(one.name for one in tasks))
    plural = "s" if len(numbers) > 1 else ""
    return f"{noun}{plural} {','.join(map(str, numbers))} ({names})"
