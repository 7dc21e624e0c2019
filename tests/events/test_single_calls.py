"""Functions of interrupts by what their senders recorded: told where it can be only one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from noisetop.events.decoder import RecordReader
from noisetop.events.interruption import Interruptions
from noisetop.events.layout import Events
from noisetop.events.origin import Origin
from noisetop.events.single_calls import SingleCalls
from noisetop.tables.rows import joined
from tests.recordings import FLAGS, events, layout, names

LAYOUT = layout()
KINDS = {kind.name: number for number, kind in LAYOUT.kinds.items()}
CPU = 1


def queued(*sent: tuple[int, int, int], cpu: int = CPU) -> Events:
    """Records of senders: when, the function, the thread."""
    records = np.zeros(len(sent), LAYOUT.trigger)
    for record, (time_ns, function, tid) in zip(records, sent, strict=True):
        record["time_ns"], record["function"], record["tid"] = time_ns, function, tid
    records["target_cpu"], records["object"] = cpu, 0xC5D
    records["source"], records["flags"] = KINDS["csd_queue"], FLAGS["TRIGGER"]
    records["stack"] = records["user_stack"] = 0xFFFFFFFF
    return records.view(LAYOUT.event)


def interrupts(*starts: int, gross_ns: int = 10) -> Events:
    return events(
        *(
            {"source": "call_function_single", "start_ns": start, "gross_ns": gross_ns, "cpu": CPU}
            for start in starts
        )
    )


def read(*pieces: Events, batches: Sequence[int] = ()) -> tuple[RecordReader, list[int]]:
    """The functions of the interrupts, 0 where none is told."""
    given = names({}, reduced=frozenset({"cheap"}))
    one = RecordReader(LAYOUT, given)
    tables: list[Interruptions] = []
    for complete_ns in batches:
        tables.append(one.read(*pieces, last=False, complete_ns=complete_ns))
        pieces = ()
    tables.append(one.read(*pieces, last=True))
    told = []
    for number in np.concatenate([table["source"] for table in tables]).tolist():
        path = one.namer.sources[number].path
        told.append(int(path[2], 16) if len(path) > 2 else 0)
    return one, told


def test_one_function_between_two_interrupts_is_what_the_second_one_ran() -> None:
    _, told = read(queued((50, 0xA, 7), (150, 0xB, 7)), interrupts(10, 100, 200))
    assert told == [0, 0xA, 0xB], "what came before the first is not known"


def test_two_functions_are_told_of_neither() -> None:
    _, told = read(queued((50, 0xA, 7), (60, 0xB, 7), (150, 0xC, 7)), interrupts(10, 100, 200))
    assert told == [0, 0, 0xC]


def test_the_same_function_twice_is_one_function() -> None:
    _, told = read(queued((50, 0xA, 7), (60, 0xA, 8)), interrupts(10, 100))
    assert told == [0, 0xA]


def test_of_two_senders_none_is_named() -> None:
    one = RecordReader(LAYOUT, names({}, reduced=frozenset({"cheap"})))
    sent = queued((50, 0xA, 7), (60, 0xA, 8), (150, 0xA, 7))
    table = one.read(sent, interrupts(10, 100, 200), last=True)
    assert [one.join.triggers[number].tid for number in table["trigger"]] == [0, 0, 7]
    assert table["trigger_ns"].tolist() == [0, 0, 150]


@pytest.mark.parametrize("time_ns", [103, 110])
def test_what_is_queued_during_an_interrupt_may_be_part_of_it(time_ns: int) -> None:
    _, told = read(queued((50, 0xA, 7), (time_ns, 0xB, 7)), interrupts(10, 100, 200))
    assert told == [0, 0, 0xB], "it may be the next one's, which ran something in any case"


def test_what_an_interrupt_may_have_left_over_makes_the_next_one_unknown() -> None:
    sent = queued((50, 0xA, 7), (105, 0xB, 7), (150, 0xC, 7))
    _, told = read(sent, interrupts(10, 100, 200))
    assert told == [0, 0, 0]


def test_other_cpus_do_not_count() -> None:
    elsewhere = queued((55, 0xB, 7), cpu=CPU + 1)
    _, told = read(queued((50, 0xA, 7)), elsewhere, interrupts(10, 100))
    assert told == [0, 0xA]


def test_it_does_not_matter_how_the_records_come() -> None:
    sent = queued(*((100 * i + 50, 0xA + i % 3, 7) for i in range(30)))
    ran = interrupts(*(100 * i + 10 for i in range(31)))
    _, whole = read(sent, ran)
    _, split = read(sent, ran, batches=(450, 1000, 2222))
    assert whole == split == [0, *(0xA + i % 3 for i in range(30))]


def test_without_its_beginning_nothing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """More was queued than is kept."""
    monkeypatch.setattr("noisetop.events.single_calls._KEPT", 1)
    calls = SingleCalls(LAYOUT)
    calls.find(interrupts(10))
    calls.add(joined([queued((50, 0xA, 7)), queued((60, 0xB, 7))]).view(LAYOUT.trigger))
    rows, _, _ = calls.find(interrupts(100))
    assert len(rows) == 0


def test_the_complete_set_looks_at_what_ran() -> None:
    one = RecordReader(LAYOUT, names({}))
    assert one.calls is None
    table = one.read(queued((50, 0xA, 7)), interrupts(10, 100), last=True)
    assert {one.namer.sources[number].path[2:] for number in table["source"]} == {()}


def test_a_timer_interrupt_is_nobodys_where_its_timers_are_left_out() -> None:
    for reduced, origin in ((frozenset[str](), Origin.KERNEL), ({"cheap"}, Origin.UNATTRIBUTED)):
        one = RecordReader(LAYOUT, names({}, reduced=frozenset(reduced)))
        table = one.read(events({"source": "local_timer", "gross_ns": 5}), last=True)
        assert table["origin"].tolist() == [origin]
