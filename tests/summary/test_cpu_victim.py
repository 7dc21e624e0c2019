"""Whose a CPU is, and what is no noise to who claims it."""

from __future__ import annotations

import pytest

from noisetop.columns.victims import cpu_victim_words
from noisetop.errors import UsageError
from noisetop.events.interruption import Source
from noisetop.events.origin import Origin
from noisetop.events.task_directory import Details, TaskDirectory
from noisetop.events.task_names import TaskInfo
from noisetop.events.trigger import Trigger
from noisetop.events.victim_time import VictimTime
from noisetop.summary.as_dict import summary_as_dict
from noisetop.summary.cpu_victim import BOUND, CONTENTION, GIVEN, MOSTLY, VICTIM, Claims, CpuVictim
from noisetop.summary.recorded import check_victim, say_victim
from noisetop.summary.summarizer import Summarizer
from noisetop.summary.summary import Summary
from tests.recordings import START_NS, interruption, recording, table

SECOND_NS = 1_000_000_000
APP, THREAD, RIVAL, WORKER = 100, 101, 200, 300
INFOS = {
    APP: TaskInfo(APP, 1, False, 0),
    THREAD: TaskInfo(APP, 1, False, 0),
    RIVAL: TaskInfo(RIVAL, 1, False, 0),
    WORKER: TaskInfo(WORKER, 0, True, 0),
}
NAMES = {APP: "app", THREAD: "app", RIVAL: "app", WORKER: "osnoise/2"}


def ran(tid: int, percent: int, *, cpu: int = 2, wall_ns: int = SECOND_NS) -> VictimTime:
    """A thread that ran so much of a second on one CPU and slept else."""
    run_ns = percent * SECOND_NS // 100
    slept_ns = max(wall_ns - run_ns, 0)
    return VictimTime(
        tid, run_ns + slept_ns, run_ns, {}, 0, {}, 0, slept_ns, 0, run_ns, 0, {cpu: run_ns}
    )


def directory(bound: dict[int, int] | None = None) -> TaskDirectory:
    return TaskDirectory(NAMES, INFOS, Details(bound=bound or {}))


def victim_of(
    *times: VictimTime, given: str = "", own_pid: int = 0, bound: dict[int, int] | None = None
) -> CpuVictim | None:
    claims = Claims(True, given, own_pid)
    by_tid = {one.tid: one for one in times}
    return claims.victims((2,), by_tid, directory(bound), SECOND_NS)[2]


@pytest.mark.parametrize(
    ("times", "bound", "tid", "found"),
    [
        ((ran(APP, 1), ran(RIVAL, 99)), {APP: 2}, APP, BOUND),
        ((ran(APP, 1), ran(RIVAL, 99)), {APP: 3}, RIVAL, MOSTLY),
        ((ran(APP, 40), ran(RIVAL, 55)), {APP: 2, RIVAL: 2}, 0, ""),
        ((ran(APP, 80), ran(RIVAL, 15)), {APP: 2, RIVAL: 2}, APP, BOUND),
        ((ran(APP, 90), ran(RIVAL, 1, wall_ns=1)), {RIVAL: 2}, APP, MOSTLY),
        ((ran(APP, 50), ran(RIVAL, 50)), {}, 0, ""),
        ((ran(APP, 30), ran(THREAD, 40), ran(RIVAL, 30)), {}, THREAD, MOSTLY),
        ((ran(RIVAL, 0),), {}, 0, ""),
        ((ran(APP, 90, cpu=3),), {}, 0, ""),
        ((ran(WORKER, 95), ran(APP, 2)), {}, WORKER, MOSTLY),
    ],
)
def test_who_claims_a_cpu(
    times: tuple[VictimTime, ...], bound: dict[int, int], tid: int, found: str
) -> None:
    victim = victim_of(*times, bound=bound)
    assert (victim.tid, victim.found) == (tid, found) if victim else not tid


@pytest.mark.parametrize("given", ["200", "app"])
def test_who_is_said_claims_the_cpu(given: str) -> None:
    victim = victim_of(ran(RIVAL, 10), ran(WORKER, 90), given=given, bound={WORKER: 2})
    assert victim is not None
    assert (victim.tid, victim.found) == (RIVAL, GIVEN)


def test_noisetop_claims_no_cpu() -> None:
    assert victim_of(ran(APP, 100), own_pid=APP) is None


def test_nothing_is_inferred_where_the_victims_are_what_is_watched() -> None:
    assert Claims(False).victims((2,), {APP: ran(APP, 100)}, directory(), SECOND_NS) == {}


def test_who_is_said_has_to_have_run_there() -> None:
    given = CpuVictim(APP, "app", APP, False, GIVEN)
    check_victim({2: None, 3: given}, "app")
    check_victim({2: None}, None)
    with pytest.raises(UsageError, match="no task app ran"):
        check_victim({2: None}, "app")


def test_a_recording_of_a_process_has_its_own_victims() -> None:
    with pytest.raises(UsageError, match="made with -c"):
        say_victim(recording(table(), metadata={"victims": "PROCESS"}), "app")


def test_the_words_of_the_head_line() -> None:
    app = CpuVictim(APP, "a\x1bb", APP, False, BOUND)
    worker = CpuVictim(WORKER, "osnoise/3", 0, True, MOSTLY)
    assert cpu_victim_words({}) == ""
    assert cpu_victim_words({2: None, 3: None}) == "victim nobody"
    assert cpu_victim_words({2: app}).startswith("victim a")
    assert "\x1b" not in cpu_victim_words({2: app})
    words = cpu_victim_words({2: None, 3: worker})
    assert words == "victims CPU 2 nobody, CPU 3 kernel thread osnoise/3 300 (most of its CPU time)"


SOURCES = (Source(("thread", "app")), Source(("softirq", "RCU")))


def summary(cpu_victims: dict[int, CpuVictim | None]) -> Summary:
    """On CPU 2 ``app`` ran while others waited, as two processes; and a softirq."""
    summarizer = Summarizer((2,), SOURCES, (Trigger(),), directory())
    rows = [
        (0, 600, 0, RIVAL, THREAD),
        (700, 300, 0, APP, RIVAL),
        (1_100, 200, 0, RIVAL, APP),
        (1_400, 7, 1, APP, APP),
    ]
    summarizer.add(
        table(
            *(
                interruption(
                    start, ns, source=source, victim=victim, tid=tid, origin=int(Origin.OTHERS)
                )
                for start, ns, source, victim, tid in rows
            )
        )
    )
    return summarizer.summary(START_NS, START_NS + SECOND_NS, cpu_victims=cpu_victims)


def test_turns_of_the_victim_are_set_aside_exactly() -> None:
    found = summary({2: CpuVictim(APP, "app", APP, False, BOUND)})
    (cpu,) = found.cpus
    assert (cpu.noise_ns, cpu.external_ns, cpu.aside_ns(VICTIM)) == (1_107, 307, 800)
    assert [(one.aside, one.net_ns, one.count) for one in cpu.sources] == [
        ("", 300, 1), ("", 7, 1), ("victim", 800, 2),
    ]  # fmt: skip
    assert sum(one.histogram.sum() for one in cpu.sources) == 4
    for one in cpu.sources:
        assert sum(part.count for part in one.triggers) == one.count
        assert sum(part.net_ns for part in one.triggers) == one.net_ns
    assert found.all_cpus().external_ns == cpu.external_ns


def test_contention_on_a_cpu_that_nobody_claims_is_no_headline() -> None:
    (cpu,) = summary({2: None}).cpus
    assert (cpu.noise_ns, cpu.external_ns, cpu.aside_ns(CONTENTION)) == (1_107, 7, 1_100)


def test_a_victim_by_cpu_time_is_noise_on_other_cpus_and_a_bound_one_is_not() -> None:
    for found, external_ns in ((MOSTLY, 1_107), (BOUND, 307)):
        rival = CpuVictim(WORKER, "osnoise/2", 0, True, MOSTLY)
        (cpu,) = summary({2: rival, 3: CpuVictim(APP, "app", APP, False, found)}).cpus
        assert cpu.external_ns == external_ns


def test_json_tells_the_victim_of_each_cpu() -> None:
    found = summary_as_dict(summary({2: CpuVictim(APP, "app", APP, False, BOUND)}))
    about = found["cpus"]["2"]  # type: ignore[index]
    assert (about["victim"]["tid"], about["victim"]["found"]) == (APP, "bound")
    assert about["contention_ns"] == 0
    unclaimed = summary_as_dict(summary({2: None}))["cpus"]["2"]  # type: ignore[index]
    assert unclaimed["victim"] is None
    assert "victim" not in summary_as_dict(summary({}))["cpus"]["2"]  # type: ignore[index]
