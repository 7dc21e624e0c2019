from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from noisetop.events.interruption import Flag
from noisetop.events.layout import Events
from noisetop.events.source_names import Namer
from tests.recordings import events, layout, names

SYMBOLS = {0xFFFF1000: "process_timeout", 0xFFFF2000: "vmstat_update", 0xFFFF3000: "flush_tlb_func"}


def namer() -> Namer:
    return Namer(layout(), names(SYMBOLS))


def paths(*rows: dict[str, object]) -> list[tuple[str, ...]]:
    one = namer()
    table = one.interruptions(events(*rows))
    return [one.sources[number].path for number in table["source"]]


def test_irq_has_its_number_and_the_full_name_of_its_action() -> None:
    assert paths({"source": "irq", "id": 36, "comm": b"virtio1-req.0"[:15]}) == [
        ("irq", "36 virtio1-req.0")
    ]


def test_irq_without_a_known_action_keeps_what_the_event_says() -> None:
    assert paths({"source": "irq", "id": 7, "comm": b"eth0"}, {"source": "irq", "id": 8}) == [
        ("irq", "7 eth0"),
        ("irq", "8"),
    ]


def test_own_threads_are_told_by_their_process_and_not_by_their_name() -> None:
    one, dtype = namer(), layout().task_name
    assert dtype is not None
    told = np.zeros(3, dtype)
    told["tid"], told["tgid"] = (50, 51, 60), (50, 50, 60)

    def seen() -> list[tuple[str, ...]]:
        rows = (
            {"source": "thread", "id": 1 << 32 | tid, "comm": b"noisetop"} for tid in (50, 51, 60)
        )
        table = one.interruptions(events(*rows))
        return [one.sources[number].path for number in table["source"]]

    ours, another = ("thread", "own", "noisetop"), ("thread", "noisetop")
    one.note_own(told, 0)
    assert seen() == [another] * 3
    one.note_own(told, 50)
    assert seen() == [ours, ours, another]
    told["tgid"] = 60  # the numbers are given to others
    one.note_own(told, 50)
    assert seen() == [another] * 3


def test_a_task_cannot_take_the_place_of_what_is_none() -> None:
    told = ("throttled", "self", "own", "other", "unattributed")
    rows = [{"source": "thread", "id": 7, "comm": name.encode()} for name in told]
    assert paths(*rows) == [("thread", f'"{name}"') for name in told]
    assert paths({"source": "thread", "id": 0, "comm": b"swapper/1"}) == [("thread", "throttled")]
    assert paths({"source": "thread", "id": 7, "comm": b"swapper/1"}) == [("thread", "swapper/1")]


def test_softirq_by_vector_and_an_unknown_vector_by_number() -> None:
    assert paths({"source": "softirq", "id": 1}, {"source": "softirq", "id": 200}) == [
        ("softirq", "TIMER"),
        ("softirq", "200"),
    ]


def test_callback_belongs_to_the_frame_around_it() -> None:
    row = {"source": "timer", "id": 0xFFFF1000, "parent_source": "softirq", "parent_id": 1}
    assert paths(row) == [("softirq", "TIMER", "process_timeout")]


def test_what_follows_the_end_of_a_name_is_none_of_it() -> None:
    rows = [
        {"source": "thread", "id": 7, "comm": b"compete\0\0-init"},
        {"source": "thread", "id": 7, "comm": b"compete"},
    ]
    assert paths(*rows) == [("thread", "compete")] * 2


def test_work_item_names_its_worker_and_its_function() -> None:
    row = {"source": "work", "id": 0xFFFF2000, "flags": Flag.THREADED, "comm": b"kworker/2:1"}
    assert paths(row) == [("thread", "kworker/2:1", "vmstat_update")]


def test_softirq_in_ksoftirqd_belongs_to_the_thread() -> None:
    row = {"source": "softirq", "id": 1, "flags": Flag.THREADED, "comm": b"ksoftirqd/2"}
    assert paths(row) == [("thread", "ksoftirqd/2", "TIMER")]


def test_thread_of_the_victim_itself() -> None:
    rows = [
        {"source": "thread", "id": 5, "comm": b"worker", "flags": Flag.THREADED | Flag.SELF},
        {"source": "thread", "id": 5, "comm": b"worker", "flags": Flag.THREADED},
    ]
    assert paths(*rows) == [("thread", "self", "worker"), ("thread", "worker")]


def test_the_idle_task_in_place_of_a_victim_is_its_cpu_quota() -> None:
    waker = 77 << 32
    rows = [
        {"source": "thread", "id": waker, "comm": b"swapper/1"},
        {"source": "thread", "id": waker | 5, "comm": b"swapper/1"},
        {"source": "thread", "id": 0, "comm": b"swapper/2"},
    ]
    assert paths(*rows) == [
        ("thread", "throttled"),
        ("thread", "swapper/1"),
        ("thread", "throttled"),
    ]


def test_two_threads_of_one_name_are_one_source() -> None:
    table = namer().interruptions(
        events(
            {"source": "thread", "id": 5 | 3 << 32, "tid": 5, "comm": b"sh"},
            {"source": "thread", "id": 6, "tid": 6, "comm": b"sh"},
        )
    )
    assert len(set(table["source"].tolist())) == 1
    assert table["tid"].tolist() == [5, 6]


def test_what_follows_the_end_of_a_name_is_ignored() -> None:
    rows = events(*[{"source": "thread", "id": 5, "comm": b"sh"}] * 2)
    raw = rows.view(np.uint8).reshape(2, -1)
    comm = rows.dtype.fields["comm"][1]  # type: ignore[index]
    raw[1, comm + 3 : comm + 16] = 0x41
    assert len(set(namer().interruptions(rows)["source"].tolist())) == 1


def test_bytes_that_are_no_text_do_not_fail() -> None:
    assert paths({"source": "thread", "id": 5, "comm": b"\xff\xfe"}) == [("thread", "\ufffd\ufffd")]


COMMS = st.binary(max_size=16).map(lambda name: name.split(b"\0")[0])
ROWS = st.fixed_dictionaries(
    {
        "source": st.sampled_from(["thread", "irq", "softirq", "work", "timer"]),
        "id": st.sampled_from([0, 1, 36, 0xFFFF1000, 0xFFFF2000]),
        "comm": COMMS,
        "flags": st.sampled_from([0, Flag.THREADED, Flag.THREADED | Flag.SELF, Flag.OUTERMOST]),
    }
)


@given(st.lists(ROWS, max_size=20), st.integers(0, 20))
def test_sources_do_not_depend_on_how_events_are_cut(
    rows: list[dict[str, object]], cut: int
) -> None:
    whole: Events = events(*rows)
    one, other = namer(), namer()
    alone = [namer() for _ in rows]
    at_once = [one.sources[number] for number in one.interruptions(whole)["source"]]
    parts = (other.interruptions(part)["source"] for part in (whole[:cut], whole[cut:]))
    in_parts = [other.sources[number] for part in parts for number in part]
    singly = [
        single.sources[single.interruptions(whole[at : at + 1])["source"][0]]
        for at, single in enumerate(alone)
    ]
    assert at_once == in_parts == singly


def test_a_frequency_is_told_in_mhz() -> None:
    assert paths({"source": "frequency", "id": 2400}, {"source": "thermal_trip"}) == [
        ("hardware", "frequency", "2400 MHz"),
        ("hardware", "thermal_trip"),
    ]
