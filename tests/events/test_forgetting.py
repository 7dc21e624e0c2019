"""A reader that forgets names goes on as if it had not, but for what it no longer tells apart."""

from __future__ import annotations

import numpy as np

from noisetop.events.decoder import RecordReader
from noisetop.events.interruption import OTHER, OTHER_TID, UNATTRIBUTED, Source
from noisetop.events.layout import Events
from noisetop.events.victim_time import VictimTime, folded
from tests.recordings import FLAGS, events, layout, names

VICTIM, OTHERS = 100, 5_000
SECOND_NS = 1_000_000_000


def reader() -> RecordReader:
    return RecordReader(layout(), names({}))


def kept(source: Source) -> Source:
    return source if source == Source(("thread", "daemon")) else source.other


def ran(comm: str, start_ns: int, tid: int = 7) -> Events:
    """A thread that had the CPU of the victim for 100 µs."""
    return events(
        {
            "source": "thread",
            "id": tid,
            "tid": tid,
            "victim_tid": VICTIM,
            "cpu": 2,
            "comm": comm.encode(),
            "start_ns": start_ns,
            "gross_ns": 100_000,
            "net_ns": 100_000,
        }
    )


def waited(start_ns: int, reason: int = 0) -> Events:
    """The victim waited for that time."""
    wait = {"source": "thread", "tid": VICTIM, "flags": FLAGS["WAIT"], "level": reason}
    return events({**wait, "start_ns": start_ns, "gross_ns": 100_000, "cpu": 2})


def test_sources_and_triggers_have_other_numbers_and_the_same_names() -> None:
    one = reader()
    found = []
    for turn in range(4):
        table = one.read(ran("daemon", turn * SECOND_NS), ran(f"s{turn}", turn), last=True)
        found += [one.namer.sources[number].label for number in table["source"].tolist()]
        sources, triggers = one.namer.sources, one.join.triggers
        one.forget(kept, lambda tid: False, 0)
        assert one.namer.sources is not sources
        assert one.join.triggers is not triggers
        assert one.namer.name_count == 0
        assert max(len(one.namer.sources), len(one.join.triggers)) <= 5  # the tick and its like
    assert found[::2] == ["thread › daemon"] * 4
    assert found[1::2] == [f"thread › s{turn}" for turn in range(4)]


def test_an_interrupt_knows_what_it_ran_although_names_were_forgotten_since() -> None:
    one = reader()
    kinds = {kind.name: number for number, kind in one.layout.kinds.items()}
    sent = np.zeros(1, one.layout.trigger)
    sent["time_ns"], sent["tid"], sent["object"] = 1000, 100, 0xC5D
    sent["source"], sent["flags"] = kinds["csd_queue"], FLAGS["TRIGGER"]
    csd = events({"source": "csd", "object": 0xC5D, "start_ns": 2000, "gross_ns": 10})
    around = events({"source": "call_function_single", "start_ns": 1990, "gross_ns": 40})
    first = np.frombuffer(sent.tobytes() + csd.tobytes(), csd.dtype)
    one.read(first, last=False, complete_ns=2020)
    one.forget(kept, lambda tid: False, 0)
    (outer,) = one.read(around, last=True)
    assert one.join.triggers[outer["trigger"]].tid == 100


def test_a_wait_that_ends_later_still_knows_who_ran() -> None:
    one = reader()
    for at, comm in ((1_000_000, "daemon"), (1_200_000, "s1")):
        one.read(ran(comm, at), last=False, complete_ns=at + 100_000, settles=True)
    one.forget(kept, lambda tid: False, 0)
    assert UNATTRIBUTED in one.namer.sources
    one.read(waited(1_000_000), waited(1_200_000), last=False, complete_ns=2_000_000, settles=True)
    one.settle(events(), events(), 2_000_000)
    (time,) = one.victims.close(2_000_000).values()
    assert time.contention == {
        Source(("thread", "daemon")): 100_000,
        Source(("thread", OTHER)): 100_000,
    }
    assert time.adds_up()


def test_threads_whose_end_was_not_told_are_forgotten() -> None:
    one = reader()
    one.read(ran("daemon", 0), waited(0), last=False, complete_ns=SECOND_NS, settles=True)
    one.settle(events(), events(), SECOND_NS)
    assert set(one.victims.close(SECOND_NS)) == {VICTIM}
    one.forget(kept, lambda tid: tid == VICTIM, 0)
    assert set(one.victims.close(2 * SECOND_NS)) == {VICTIM}
    one.forget(kept, lambda tid: False, 0)
    assert one.victims.close(3 * SECOND_NS) == {}


def test_the_time_of_victims_that_are_not_told_apart_adds_up() -> None:
    def victim(tid: int) -> VictimTime:
        contention = {Source(("thread", "daemon")): 10, Source(("thread", f"s{tid}")): 5}
        return VictimTime(tid, 100, 50, {"device": 5}, 5, contention, 5, 15, 5, 60, 25)

    victims = {tid: victim(tid).told_as(kept) for tid in range(1, 11)}
    for _ in range(2):
        victims = folded(victims, {3, 4})
        assert set(victims) == {3, 4, OTHER_TID}
        assert all(time.tid == tid and time.adds_up() for tid, time in victims.items())
        other = victims[OTHER_TID]
        assert (other.wall_ns, other.noise_ns) == (800, {"device": 40})
        assert other.contention == {
            Source(("thread", "daemon")): 80,
            Source(("thread", OTHER)): 40,
        }
