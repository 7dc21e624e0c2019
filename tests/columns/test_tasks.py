from __future__ import annotations

from noisetop.columns.tasks import TaskNamer, described, short_lived_rows
from noisetop.columns.triggers import culprits, who_of_source
from noisetop.events.origin import Origin
from noisetop.events.task_directory import Details, TaskDirectory
from noisetop.events.task_names import TaskInfo
from noisetop.events.trigger import Trigger
from noisetop.machine.cgroup_names import CgroupNames
from noisetop.machine.task_details import ProcessDetails
from noisetop.summary.short_lived import ShortLived
from noisetop.summary.summary import SourceSummary, Summary
from noisetop.summary.trigger_totals import OTHERS, TriggerSummary
from tests.builders import cpu, source
from tests.recordings import HOSTILE

UNIT = "/system.slice/redis.service"
WHO = TaskDirectory(
    {7: "cronish.sh", 10: "redis-server", 11: "io_thd_1", 30: "kworker/1:0", 40: HOSTILE},
    {
        7: TaskInfo(7, 1, False, 0),
        10: TaskInfo(10, 1, False, 0),
        11: TaskInfo(10, 1, False, 0),
        30: TaskInfo(30, 2, True, 0),
        40: TaskInfo(40, 1, False, 0),
    },
    Details(
        {10: ProcessDetails("redis-server", "redis-server", 1, UNIT)},
        {UNIT: CgroupNames(UNIT, "redis.service")},
    ),
)
LS = ShortLived("ls", 7, starts=48, count=96, net_ns=500)


def caused(trigger: Trigger, net_ns: int) -> TriggerSummary:
    return TriggerSummary(trigger, 1, net_ns, net_ns)


def thread(name: str, *tasks: TriggerSummary, woken: Trigger | None = None) -> SourceSummary:
    """A source with these tasks, all woken by one."""
    net_ns = sum(one.net_ns for one in tasks)
    return SourceSummary(
        **{
            **{
                key: getattr(source("thread", name), key)
                for key in SourceSummary.__dataclass_fields__
            },
            "net_ns": net_ns,
            "triggers": (caused(woken or Trigger(), net_ns),),
            "tasks": tasks,
            "origin": Origin.OTHERS,
        }
    )


def summary(*sources: SourceSummary, short_lived: tuple[ShortLived, ...] = ()) -> Summary:
    return Summary(0, 2_000_000_000, (cpu(2, *sources),), directory=WHO, short_lived=short_lived)


def labels(one: Summary) -> list[tuple[str, int]]:
    return [(row.label, row.part.net_ns) for row in culprits(one)]


def test_a_trigger_is_told_with_what_it_belongs_to() -> None:
    assert described(Trigger("redis-server", 10, cpu=1), WHO) == (
        "redis-server 10 (unit redis.service) on CPU 1"
    )
    assert described(Trigger(context="tick"), WHO) == "tick"
    assert described(Trigger(), WHO) == "unknown"
    worker = Trigger("kworker/1:0", 30, cpu=1, work="flush", origin="io_thd_1 11")
    assert described(worker, WHO) == (
        "flush in kworker/1:0 30 ← io_thd_1 11 (PID 10 redis-server, unit redis.service) on CPU 1"
    )


def test_a_program_took_the_time_itself_whoever_woke_it() -> None:
    one = thread("redis-server", caused(Trigger(tid=10), 70), woken=Trigger("io_thd_1", 11))
    assert labels(summary(one)) == [("redis-server 10 (unit redis.service)", 70)]
    rows = who_of_source(one, TaskNamer(summary(one)))
    assert [row.label for row in rows] == [
        "redis-server 10 (unit redis.service)",
        "woken by io_thd_1 11 (PID 10 redis-server, unit redis.service)",
    ]


def test_a_program_that_went_on_was_woken_by_nobody_that_is_known() -> None:
    one = thread("redis-server", caused(Trigger(tid=10), 70), woken=Trigger())
    rows = who_of_source(one, TaskNamer(summary(one)))
    assert rows[1].label == "woken by nobody known"
    sent = source("ipi", "reschedule", triggers=(caused(Trigger(), 9),))
    assert [row.label for row in who_of_source(sent, TaskNamer(summary(sent)))] == ["unknown"]


def test_a_kernel_thread_works_for_who_woke_it() -> None:
    woken = Trigger("redis-server", 10, cpu=1)
    one = thread("kworker/1:0", caused(Trigger(tid=30), 70), woken=woken)
    assert labels(summary(one)) == [("redis-server 10 (unit redis.service) on CPU 1", 70)]
    assert TaskNamer(summary(one)).programs_of(one) == []
    alone = thread("kworker/1:0", caused(Trigger(tid=30), 70))
    assert labels(summary(alone)) == [("kworker/1:0 30", 70)]


def test_short_lived_tasks_are_one_culprit_as_threads_and_as_triggers() -> None:
    ran = thread("ls", caused(LS.trigger, 70), caused(OTHERS, 5))
    infos = {**WHO.infos, 900: TaskInfo(900, 7, False, 0)}
    names = {**WHO.names, 900: "ls"}
    sent = source("ipi", "reschedule", triggers=(caused(Trigger("ls", 900, cpu=3), 9),))
    one = Summary(
        0,
        2_000_000_000,
        (cpu(2, ran, sent),),
        directory=TaskDirectory(names, infos),
        short_lived=(LS,),
    )
    text = "ls, 24 starts/s by cronish.sh (PID 7)"
    assert labels(one) == [(text, 79), ("other tasks named ls", 5)]


def test_unknown_comes_last_and_names_are_harmless() -> None:
    unknown = source("ipi", "reschedule", triggers=(caused(Trigger(), 900),))
    hostile = thread("x", caused(Trigger(tid=40), 1))
    found = labels(summary(unknown, hostile))
    assert found[-1] == ("unknown", 900)
    assert all(text.isprintable() for text, _ in found)


def test_the_table_of_short_lived_tasks() -> None:
    (row,) = short_lived_rows(summary(short_lived=(LS,)))
    assert (row.one.name, row.starter) == ("ls", "cronish.sh (PID 7)")
