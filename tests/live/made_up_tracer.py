"""A tracer of made-up records: a victim whose CPU short tasks take, each under its own name."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np

from noisetop.counters.calibration import NONE
from noisetop.counters.left_out import NOTHING
from noisetop.counters.period import CountersWatch
from noisetop.events.decoder import RecordReader
from noisetop.events.interruption import Interruptions
from noisetop.events.layout import Events
from noisetop.events.task_directory import TaskDirectory
from noisetop.events.trigger import UserStacks
from noisetop.events.victim_time import ANY_TASK
from noisetop.live.feed import TracerFeed
from noisetop.live.sample import Sample
from noisetop.tables.rows import joined
from tests.recordings import FLAGS, START_NS, layout, names

SECOND_NS = 1_000_000_000
CPU = 2
VICTIM, DAEMON, KERNEL, FIRST = 100, 7, 15, 100_000
RAN_NS = 20_000
PF_KTHREAD = 0x00200000
LAYOUT = layout()
THREAD = next(number for number, kind in LAYOUT.kinds.items() if kind.name == "thread")
_AGES_US = {VICTIM: 9_000_000, DAEMON: 9_000_000, KERNEL: 9_000_000}


def named(tids: list[int], comms: list[str], times: list[int]) -> Events:
    """Records that tell the names of tasks; those from FIRST on have just begun."""
    assert LAYOUT.task_name is not None
    told = np.zeros(len(tids), LAYOUT.task_name)
    told["tid"], told["tgid"], told["time_ns"] = tids, tids, times
    told["comm"] = [comm.encode() for comm in comms]
    told["parent_tgid"], told["flags"] = VICTIM, FLAGS["NAME"]
    told["age_us"] = [_AGES_US.get(tid, 5) for tid in tids]
    told["task_flags"] = [PF_KTHREAD if tid == KERNEL else 0 for tid in tids]
    return told.view(LAYOUT.event)


def ran(tids: list[int], comms: list[str], times: list[int]) -> Events:
    """Threads that had the CPU of the victim, which woke them, for RAN_NS."""
    made = np.zeros(len(tids), LAYOUT.event)
    made["source"] = made["parent_source"] = THREAD
    made["id"] = np.array(tids, np.uint64) | np.uint64(VICTIM << 32)
    made["tid"], made["victim_tid"], made["cpu"] = tids, VICTIM, CPU
    made["start_ns"], made["gross_ns"], made["net_ns"] = times, RAN_NS, RAN_NS
    made["comm"] = [comm.encode() for comm in comms]
    made["flags"] = 1
    return made


def lived(tids: list[int], times: list[int]) -> Events:
    """Waits of threads that have just begun, and their end; meanwhile the victim waits."""
    waits = np.zeros((len(tids), 3), LAYOUT.event)
    waits["flags"], waits["cpu"], waits["source"] = FLAGS["WAIT"], CPU, THREAD
    waits["tid"] = np.array([[tid, tid, VICTIM] for tid in tids])
    starts = np.array(times, np.uint64)[:, None]
    waits["start_ns"] = starts + np.array([-4_000, RAN_NS, 0])
    waits["gross_ns"] = np.array([4_000, 0, RAN_NS])
    woken, exited, preempted = map(LAYOUT.wait_reasons.index, ("woken", "exited", "preempted"))
    waits["level"] = np.array([woken, exited, preempted])
    waits["object"] = np.array([LAYOUT.slept_new, 0, 0])
    return waits.reshape(-1)


class MadeUpTracer:
    """Gives read() the seconds up to the moment that was waited for: in each, so many short tasks,
    and a daemon and a thread of the kernel that run once."""

    def __init__(self, tasks: int) -> None:
        self.tasks = tasks
        self.target = SimpleNamespace(cpus=(CPU,), victims=ANY_TASK, pid=0, processes=())
        self.given_victim, self.own_pid = "", 0
        self.calibration, self.left_out = NONE, NOTHING
        self.counters = CountersWatch()
        self.reader = RecordReader(LAYOUT, names())
        self.start_ns, self.end_ns = START_NS, 0
        self.reader.restart(START_NS)
        self.second = self.reads = 0
        self.waited_for_ns = START_NS

    @property
    def directory(self) -> TaskDirectory:
        return TaskDirectory(self.reader.tasks, self.reader.task_names.infos)

    def stacks_so_far(self) -> tuple[dict[int, tuple[str, ...]], UserStacks]:
        return {}, {}

    @property
    def complete_ns(self) -> int:
        """Up to where records were given."""
        return START_NS + self.second * SECOND_NS

    def comm(self, tid: int) -> str:
        """What a short task is called."""
        return f"s-{tid}"

    def records(self) -> Events:
        """Of the next second."""
        start_ns, first = self.complete_ns, FIRST + self.second * self.tasks
        self.second += 1
        tids = list(range(first, first + self.tasks))
        step_ns = SECOND_NS // (self.tasks + 2)
        times = [start_ns + (at + 1) * step_ns for at in range(self.tasks)]
        comms = [self.comm(tid) for tid in tids]
        stay = [DAEMON, KERNEL], ["daemon", "kdaemon"], [start_ns + 50_000, start_ns + 80_000]
        known = [VICTIM, *stay[0]], ["victim", *stay[1]], [start_ns] * 3
        short = tids, comms, times
        both = joined([named(*known), ran(*stay), named(*short), ran(*short)])
        return joined([both, lived(tids, times)])

    def read(self, *, settles: bool = False) -> Interruptions:
        self.reads += 1
        seconds = []
        while self.complete_ns < self.waited_for_ns:
            seconds.append(self.records())
        return self.reader.read(*seconds, last=False, complete_ns=self.complete_ns, settles=settles)

    def settle(self) -> tuple[int, Interruptions, Interruptions]:
        none = np.empty(0, LAYOUT.event)
        return self.complete_ns, *self.reader.settle(none, none, self.complete_ns)


class NeverStops:
    stopped = interrupted = woken = False
    reason = ""

    def __init__(self, tracer: MadeUpTracer) -> None:
        self._tracer = tracer

    def wait_until(self, moment_ns: int) -> bool:
        self._tracer.waited_for_ns = moment_ns
        return False


def samples(
    tracer: Any, interval_ns: int = SECOND_NS, **options: Any
) -> Iterator[tuple[Sample, TracerFeed]]:
    """The samples of a live view, without waiting, and what makes them."""
    stopper: Any = NeverStops(tracer)
    feed = TracerFeed(tracer, stopper, interval_ns, **options)
    while True:
        yield feed.next(), feed
