from __future__ import annotations

import numpy as np
import pytest

from noisetop.events.task_names import TaskNames
from noisetop.events.trigger_join import TriggerJoin, Triggers
from noisetop.events.victim_stacks import KEPT, NO_STACK, VictimStacks
from tests.recordings import events, layout

TASK, INTERRUPT = 0, 2
KWORKER, TIMERS = 9, 18


def triggers(name: str, *rows: dict[str, int]) -> Triggers:
    """Records of one kind of trigger."""
    shared = layout()
    made = np.zeros(len(rows), shared.trigger)
    made["source"] = next(n for n, kind in shared.kinds.items() if kind.name == name)
    for record, row in zip(made, rows, strict=True):
        for name, value in row.items():
            record[name] = value
    return made


def called(names: dict[int, str]) -> TaskNames:
    """Tasks that always had these names."""
    book = TaskNames()
    comms = ({"tid": tid, "comm": name.encode()} for tid, name in names.items())
    book.add(events(*({"source": "thread", **comm} for comm in comms)))
    return book


def test_who_queued_the_work_of_a_sender_is_told_only_of_tasks() -> None:
    """One task's number stands with what interrupted it as well: the two are two causes."""
    join = TriggerJoin(layout(), hex, called({KWORKER: "kworker/0:0", TIMERS: "ktimers/0"}))
    origin = {"time_ns": 100, "function": 1, "tid": TIMERS}
    sender = {"time_ns": 200, "function": 2, "tid": KWORKER, "work_function": 1}
    join.add(
        triggers(
            "work_queue",
            {**origin, "object": 0x10, "context": TASK},
            {**origin, "object": 0x20, "context": INTERRUPT},
            {**sender, "object": 0x30, "work": 0x10},
            {**sender, "object": 0x40, "work": 0x20},
        )
    )
    run = {"source": "work", "id": 2, "start_ns": 300}
    index, _ = join.join(events({**run, "object": 0x30}, {**run, "object": 0x40}))
    assert [join.triggers[i].origin for i in index.tolist()] == ["ktimers/0 18", ""]


def test_a_call_is_answered_once_in_whichever_batch() -> None:
    join = TriggerJoin(layout(), hex, called({TIMERS: "ktimers/0"}))
    join.add(triggers("csd_queue", {"time_ns": 100, "object": 0x10, "function": 2, "tid": TIMERS}))
    call = {"source": "csd", "id": 2, "object": 0x10}
    found = [join.join(events({**call, "start_ns": start}))[0][0] for start in (200, 300)]
    assert [join.triggers[number].task for number in found] == ["ktimers/0", ""]
    at_once = TriggerJoin(layout(), hex, called({TIMERS: "ktimers/0"}))
    at_once.add(
        triggers("csd_queue", {"time_ns": 100, "object": 0x10, "function": 2, "tid": TIMERS})
    )
    both = events({**call, "start_ns": 200}, {**call, "start_ns": 300})
    assert at_once.join(both)[0].tolist() == [int(number) for number in found]


@pytest.mark.parametrize(
    ("act", "kind", "kept"), [("work_queue", "work", False), ("hrtimer_start", "hrtimer", True)]
)
def test_only_timers_wait_for_long(act: str, kind: str, kept: bool) -> None:
    """What was queued 80 s ago and did not run here ran elsewhere; a timer may still expire."""
    join = TriggerJoin(layout(), hex, called({TIMERS: "sender"}))
    count, step_ns = 8_000, 10_000_000
    for first in range(0, count, 1_000):
        numbers = range(first + 1, first + 1_001)
        one = {"function": 2, "tid": TIMERS}
        join.add(triggers(act, *({**one, "time_ns": n * step_ns, "object": n} for n in numbers)))
    run = {"source": kind, "id": 2, "start_ns": (count + 1) * step_ns}
    index, _ = join.join(events({**run, "object": 1}, {**run, "object": count}))
    assert [join.triggers[number].task for number in index] == ["sender" if kept else "", "sender"]


def test_user_stacks_tell_triggers_apart() -> None:
    join = TriggerJoin(layout(), hex, called({TIMERS: "sender"}))
    act = {"function": 2, "tid": TIMERS, "stack": 4}
    join.add(
        triggers(
            "csd_queue",
            {**act, "time_ns": 100, "object": 0x10, "user_stack": 7},
            {**act, "time_ns": 110, "object": 0x20, "user_stack": NO_STACK},
        )
    )
    call = {"source": "csd", "id": 2, "start_ns": 200}
    index, _ = join.join(events({**call, "object": 0x10}, {**call, "object": 0x20}))
    assert [join.triggers[i].user_stack for i in index.tolist()] == [7, -1]
    assert [join.triggers[i].stack for i in index.tolist()] == [4, 4]


def test_where_a_victim_was_is_found_by_what_took_its_cpu() -> None:
    join = TriggerJoin(layout(), hex, called({}))
    join.add(
        triggers(
            "victim_stack",
            {"time_ns": 100, "object": 60_000, "tid": 5, "user_stack": 1, "cpu": 2},
            {"time_ns": 200, "object": 90_000, "tid": 5, "user_stack": 2, "cpu": 2},
            {"time_ns": 150, "object": 99_000, "tid": 6, "user_stack": 3, "cpu": 2},
        )
    )
    stacks = join.victim_stacks
    assert stacks.during(5, 2, 50, 250) == 2
    assert stacks.during(5, 2, 50, 150) == 1
    assert stacks.during(5, 3, 50, 250) == -1
    assert VictimStacks.of(stacks.rows()) == stacks
    join.restart()
    assert join.victim_stacks.during(5, 2, 50, 250) == -1


def test_only_the_longest_losses_are_remembered() -> None:
    stacks = VictimStacks()
    rows = [{"time_ns": 1 + at, "object": at, "tid": 5, "user_stack": at} for at in range(5_000)]
    for first in range(0, len(rows), 100):
        stacks.add(triggers("victim_stack", *rows[first : first + 100]))
    assert KEPT <= len(stacks.rows()) <= 2 * KEPT
    assert stacks.during(5, 0, 0, 10_000) == 4_999
