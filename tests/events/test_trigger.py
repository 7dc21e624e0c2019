from __future__ import annotations

import numpy as np

from noisetop.events.task_names import TaskNames
from noisetop.events.trigger_join import TriggerJoin, Triggers
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
