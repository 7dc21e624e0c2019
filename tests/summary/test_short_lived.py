"""Tasks that are started again and again."""

from __future__ import annotations

import pytest

from noisetop.events.interruption import OTHER, Source
from noisetop.events.task_directory import TaskDirectory
from noisetop.events.task_names import TaskInfo
from noisetop.events.trigger import Trigger
from noisetop.summary import short_lived
from noisetop.summary.short_lived import STARTED, ShortLived, StartedTasks
from noisetop.summary.summarizer import Summarizer
from noisetop.summary.summary import Summary
from tests.recordings import START_NS, interruption, table

SCRIPT = 7
SOURCES = (Source(("thread", "sh")), Source(("thread", "ls")), Source(("timer", "local_timer")))
TRIGGERS = (Trigger(),)


def directory(*started: int, name: str = "ls", parent: int = SCRIPT) -> TaskDirectory:
    """Tasks from 1000 on, started so many ns after START_NS."""
    names = {SCRIPT: "cronish.sh", **{1000 + at: name for at in range(len(started))}}
    infos = {
        1000 + at: TaskInfo(1000 + at, parent, False, 0, START_NS + ns)
        for at, ns in enumerate(started)
    }
    infos[SCRIPT] = TaskInfo(SCRIPT, 1, False, 0, 1)
    return TaskDirectory(names, infos)


def summary(who: TaskDirectory, *rows: tuple[int, ...], start_ns: int = START_NS) -> Summary:
    """Of some interruptions; sources are those above."""
    summarizer = Summarizer((2,), SOURCES, TRIGGERS, who)
    for row in rows:
        summarizer.add(table(row))
    return summarizer.summary(start_ns, start_ns + 1_000_000_000)


def ran(tid: int, start_ns: int, net_ns: int = 10, *, source: int = 1) -> tuple[int, ...]:
    row = list(interruption(start_ns, net_ns, tid=tid, source=source))
    row[7] = 0  # a thread
    return tuple(row)


def test_tasks_of_one_name_and_parent_are_one_row() -> None:
    who = directory(100, 200, 300)
    # The first one ran as its parent before it became another program.
    rows = ran(1000, 110, source=0), ran(1000, 130), ran(1001, 210), ran(1002, 310), ran(SCRIPT, 5)
    found = summary(who, *rows)
    assert found.short_lived == (ShortLived("ls", SCRIPT, starts=3, count=4, net_ns=40),)
    by_name = {one.source.path[1]: one.tasks for one in found.cpus[0].sources}
    assert [(one.trigger, one.count) for one in by_name["ls"]] == [
        (Trigger("ls", SCRIPT, context=STARTED), 3),
        (Trigger(tid=SCRIPT), 1),
    ]
    assert [one.trigger for one in by_name["sh"]] == [Trigger("ls", SCRIPT, context=STARTED)]


def test_one_start_is_none_and_older_tasks_are_none() -> None:
    assert summary(directory(100), ran(1000, 110)).short_lived == ()
    before = directory(100, 200)
    rows = ran(1000, 510), ran(1001, 520)
    assert summary(before, *rows, start_ns=START_NS + 150).short_lived == ()


def test_another_starter_is_another_row() -> None:
    who = directory(100, 200, 300, 400)
    infos = dict(who.infos)
    for tid in (1002, 1003):
        infos[tid] = TaskInfo(tid, 8, False, 0, infos[tid].started_ns)
    rows = [ran(1000 + at, 500 + at) for at in range(4)]
    found = summary(TaskDirectory(who.names, infos), *rows).short_lived
    assert {(one.starter, one.starts) for one in found} == {(SCRIPT, 2), (8, 2)}


def test_threads_are_started_by_their_own_process() -> None:
    infos = {tid: TaskInfo(50, 1, False, 0, START_NS + tid) for tid in (51, 52)}
    who = TaskDirectory({50: "java", 51: "GC", 52: "GC"}, infos)
    (found,) = summary(who, ran(51, 500), ran(52, 600)).short_lived
    assert (found.name, found.starter, found.starts) == ("GC", 50, 2)


def test_kernel_threads_and_unknown_tasks_are_none() -> None:
    infos = {tid: TaskInfo(tid, 2, True, 0, START_NS + 9) for tid in (51, 52)}
    who = TaskDirectory({51: "kworker/u8:1", 52: "kworker/u8:1"}, infos)
    rows = ran(51, 500), ran(52, 600), ran(99, 700), ran(98, 800)
    assert summary(who, *rows).short_lived == ()


def test_what_is_no_thread_is_none() -> None:
    assert (
        summary(directory(1, 2), ran(1000, 10, source=2), ran(1001, 20, source=2)).short_lived == ()
    )


def test_memory_is_bounded_and_nothing_is_counted_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(short_lived, "_LIMIT", 8)
    who = directory(*range(1, 101))
    rows = [ran(SCRIPT, 0), *(ran(1000 + at, 200 + at, 10) for at in range(100))]
    (found,) = summary(who, *rows).short_lived
    assert (found.starts, found.count, found.net_ns) == (100, 100, 1000)
    # Those that were folded may come again.
    (found,) = summary(who, *rows, *rows).short_lived
    assert (found.starts, found.count, found.net_ns) == (100, 200, 2000)


def test_names_beyond_a_bound_count_with_who_started_them() -> None:
    names = {1000 + at: f"s{at}" for at in range(100)} | {SCRIPT: "cronish.sh"}
    who = directory(*range(1, 101))
    who = TaskDirectory(names, who.infos)
    tasks = StartedTasks(limit=10)
    tasks.add(table(ran(SCRIPT, 0), *(ran(1000 + at, 200 + at, 10) for at in range(100))), who)
    found = tasks.rows(who, START_NS)
    assert [(one.name, one.starter, one.starts) for one in found] == [(OTHER, SCRIPT, 95)]
    assert found[0].net_ns == 950
