from __future__ import annotations

import itertools

import numpy as np
import pytest

from noisetop.events import decoder
from noisetop.events.decoder import RecordReader
from noisetop.tables.rows import joined
from tests.recordings import FLAGS, events, layout, names


def reader() -> RecordReader:
    return RecordReader(layout(), names({}))


def test_a_told_name_is_no_interruption() -> None:
    one = reader()
    table = one.read(
        events(
            {"source": "softirq", "id": 1, "net_ns": 10},
            {"source": "thread", "tid": 77, "comm": b"victim", "flags": FLAGS["NAME"]},
            {"source": "softirq", "id": 0, "net_ns": 20},
        ),
        last=True,
    )
    assert table["net_ns"].tolist() == [10, 20]
    assert one.tasks == {77: "victim"}
    assert [one.namer.sources[number].path[1] for number in table["source"]] == ["TIMER", "HI"]


def test_the_youngest_wait_for_their_triggers_and_nothing_is_lost() -> None:
    one = reader()
    rows = [{"source": "softirq", "start_ns": i * 1_000_000, "gross_ns": 10} for i in range(20)]
    first = one.read(events(*rows[:10]), last=False, complete_ns=4_500_000)
    second = one.read(events(*rows[10:]), last=True)
    starts = [*first["start_ns"].tolist(), *second["start_ns"].tolist()]
    assert len(first) == 5
    assert starts == [row["start_ns"] for row in rows]


@pytest.mark.parametrize("size", [7, 8, 9])
def test_a_batch_ends_by_when_events_ended(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two neighbours in a ring the second one ended first: between them lies no end."""
    monkeypatch.setattr(decoder, "_HELD_LIMIT", 3)
    rows = [
        {"source": "softirq", "start_ns": at * 1_000 + later, "gross_ns": 10}
        for at in range(20)
        for later in (50, 0)
    ]
    one, ends = reader(), []
    for first in range(0, len(rows), size):
        last = first + size >= len(rows)
        table = one.read(events(*rows[first : first + size]), last=last, complete_ns=0)
        ends.append(table["start_ns"] + table["gross_ns"])
    assert sum(map(len, ends)) == len(rows)
    known = [part for part in ends if len(part)]
    assert all(a.max() < b.min() for a, b in itertools.pairwise(known))


def test_a_held_event_finds_its_own_trigger_among_later_ones() -> None:
    """More triggers of its object are read while it is held than are remembered for long."""
    one = reader()
    kinds = {kind.name: number for number, kind in one.layout.kinds.items()}
    sent = np.zeros(9, one.layout.trigger)
    sent["time_ns"] = np.arange(9) * 1000 + 500
    sent["tid"] = np.arange(9) + 100
    sent["object"], sent["source"], sent["flags"] = 0xC5D, kinds["csd_queue"], FLAGS["TRIGGER"]
    ran = events(
        *({"source": "csd", "object": 0xC5D, "start_ns": i * 1000 + 700} for i in range(9))
    )
    both = np.frombuffer(sent[:6].tobytes() + ran.tobytes(), ran.dtype)
    first = one.read(both, last=False, complete_ns=0)
    later = one.read(sent[6:].view(ran.dtype), last=True)
    assert len(first) == 0
    assert [one.join.triggers[n].tid for n in later["trigger"]] == list(range(100, 109))


@pytest.mark.parametrize("pieces", [1, 2, 4])
def test_who_sent_it_goes_by_the_name_of_then(pieces: int) -> None:
    """A task that forks is called like its parent until it runs its own program."""
    one = reader()
    kinds = {kind.name: number for number, kind in one.layout.kinds.items()}
    rows = []
    for comm, told_ns in ((b"bash", 1000), (b"ls", 2000)):
        name = {"tid": 100, "comm": comm, "start_ns": told_ns, "flags": FLAGS["NAME"]}
        sent = np.zeros(1, one.layout.trigger)
        sent["time_ns"], sent["tid"], sent["object"] = told_ns + 100, 100, 0xC5D
        sent["source"], sent["flags"] = kinds["csd_queue"], FLAGS["TRIGGER"]
        rows += [events({**name, "source": "thread"}), sent.view(one.layout.event)]
        rows.append(events({"source": "csd", "object": 0xC5D, "start_ns": told_ns + 200}))
    read = [
        one.read(piece, last=number == pieces - 1)
        for number, piece in enumerate(np.array_split(joined(rows), pieces))
    ]
    triggers = [one.join.triggers[row["trigger"]] for table in read for row in table]
    assert [(one.task, one.tid) for one in triggers] == [("bash", 100), ("ls", 100)]


def test_a_name_that_is_told_late_is_used_from_the_next_batch_on() -> None:
    """What was learned of a trigger without its name is not kept."""
    one = reader()
    kinds = {kind.name: number for number, kind in one.layout.kinds.items()}
    found = []
    for at_ns in (1000, 2000, 3000):
        sent = np.zeros(1, one.layout.trigger)
        sent["time_ns"], sent["tid"], sent["object"] = at_ns, 100, 0xC5D
        sent["source"], sent["flags"] = kinds["csd_queue"], FLAGS["TRIGGER"]
        rows = [sent.view(one.layout.event)]
        if at_ns == 2000:
            name = {"tid": 100, "comm": b"bash", "start_ns": 1500, "flags": FLAGS["NAME"]}
            rows.append(events({**name, "source": "thread"}))
        rows.append(events({"source": "csd", "object": 0xC5D, "start_ns": at_ns + 200}))
        (row,) = one.read(joined(rows), last=False, complete_ns=at_ns + 500)
        found.append(one.join.triggers[row["trigger"]].task)
    assert found == ["?", "bash", "bash"]


def test_waits_are_added_up_by_victim_and_reason() -> None:
    one = reader()
    wait = {"source": "thread", "tid": 5, "flags": FLAGS["WAIT"]}
    table = one.read(
        events({**wait, "gross_ns": 30, "level": 0}, {**wait, "gross_ns": 12, "level": 1}),
        last=True,
    )
    assert len(table) == 0
    (waited,) = one.waits.by_task().values()
    assert (waited.total_ns, waited.sum_ns, waited.max_ns) == (
        {"preempted": 30, "woken": 12},
        42,
        30,
    )


def test_an_interrupt_knows_what_it_ran_although_that_was_read_before() -> None:
    one = reader()
    kinds = {kind.name: number for number, kind in one.layout.kinds.items()}
    sent = np.zeros(1, one.layout.trigger)
    sent["time_ns"], sent["tid"], sent["object"] = 1000, 100, 0xC5D
    sent["source"], sent["flags"] = kinds["csd_queue"], FLAGS["TRIGGER"]
    ran = events({"source": "csd", "object": 0xC5D, "start_ns": 2000, "gross_ns": 10})
    around = events({"source": "call_function_single", "start_ns": 1990, "gross_ns": 40})
    first = np.frombuffer(sent.tobytes() + ran.tobytes(), ran.dtype)
    (inner,) = one.read(first, last=False, complete_ns=2020)
    (outer,) = one.read(around, last=True)
    assert one.join.triggers[inner["trigger"]].tid == 100
    assert outer["trigger"] == inner["trigger"]
