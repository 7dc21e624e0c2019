from __future__ import annotations

import numpy as np

from noisetop.trigger import TriggerJoin, Triggers
from tests.recordings import events, layout

TASK, INTERRUPT = 0, 2
KWORKER, TIMERS = 9, 18


def queued(*rows: dict[str, int]) -> Triggers:
    """Records of work items that somebody queued."""
    shared = layout()
    made = np.zeros(len(rows), shared.trigger)
    made["source"] = next(n for n, kind in shared.kinds.items() if kind.name == "work_queue")
    for record, row in zip(made, rows, strict=True):
        for name, value in row.items():
            record[name] = value
    return made


def test_who_queued_the_work_of_a_sender_is_told_only_of_tasks() -> None:
    """One task's number stands with what interrupted it as well: the two are two causes."""
    join = TriggerJoin(layout(), hex, {KWORKER: "kworker/0:0", TIMERS: "ktimers/0"})
    origin = {"time_ns": 100, "function": 1, "tid": TIMERS}
    sender = {"time_ns": 200, "function": 2, "tid": KWORKER, "work_function": 1}
    join.add(
        queued(
            {**origin, "object": 0x10, "context": TASK},
            {**origin, "object": 0x20, "context": INTERRUPT},
            {**sender, "object": 0x30, "work": 0x10},
            {**sender, "object": 0x40, "work": 0x20},
        )
    )
    run = {"source": "work", "id": 2, "start_ns": 300}
    index, _ = join.join(events({**run, "object": 0x30}, {**run, "object": 0x40}))
    assert [join.triggers[i].origin for i in index.tolist()] == ["ktimers/0 18", ""]
