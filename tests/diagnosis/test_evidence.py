"""Tables of interruptions become shares, and every diagnosis adds up to the noise."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from noisetop.compare.sample import BLOCKS
from noisetop.diagnosis import diagnose
from noisetop.diagnosis.evidence import collect, evidence_of
from noisetop.events.interruption import INTERRUPTION, Interruptions, Source
from noisetop.events.trigger import Trigger
from noisetop.recording.recording import Recording
from noisetop.summary.recorded import summary_of
from tests.recordings import SOURCES, START_NS, everything, interruption, nested_tables, recording
from tests.recordings import table as rows_of

TIMER = Source(("timer", "local_timer"))
TICK = Source(("timer", "local_timer", "tick_nohz_handler"))
SENDERS = [Trigger(), Trigger("java", 7, 1, stack=3), Trigger(context="tick")]


def recorded(*tables: Interruptions, sources: list[Source] | None = None) -> Recording:
    made = recording(*tables, sources=sources or list(SOURCES))
    made.triggers = list(SENDERS)
    made.stacks = {3: ("membarrier_private_expedited",)}
    return made


@st.composite
def random_tables(draw: st.DrawFn) -> list[Interruptions]:
    """Anything: overlapping, out of order, of idle CPUs, with any source and trigger."""
    sizes = draw(st.lists(st.integers(0, 40), min_size=1, max_size=4))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    tables = []
    for size in sizes:
        made = np.zeros(size, INTERRUPTION)
        made["start_ns"] = START_NS + random.integers(0, 1_000_000, size).astype(np.uint64)
        made["gross_ns"] = random.integers(0, 10_000, size).astype(np.uint64)
        made["net_ns"] = random.integers(0, made["gross_ns"] + 1).astype(np.uint64)
        made["source"] = random.integers(0, len(SOURCES) + 2, size)
        made["victim_tid"] = random.integers(0, 3, size)
        made["cpu"] = random.integers(2, 5, size)
        made["trigger"] = random.integers(0, len(SENDERS), size)
        made["flags"] = random.integers(0, 2, size)
        tables.append(made)
    return tables


@given(random_tables())
def test_a_diagnosis_adds_up_to_the_noise(tables: list[Interruptions]) -> None:
    made = recorded(*tables, sources=[*SOURCES, TICK, Source(("novel", "thing"))])
    expected = sum(int(one["net_ns"][one["victim_tid"] != 0].sum()) for one in tables)
    diagnosis = diagnose(evidence_of(made))
    assert diagnosis.evidence.noise_ns == summary_of(made).noise_ns == expected
    assert diagnosis.explained_ns + diagnosis.unexplained_ns == expected
    claimed = [id(one) for finding in diagnosis.findings for one in finding.shares]
    everyone = claimed + [id(one) for one in diagnosis.unexplained]
    assert len(everyone) == len(set(everyone)) == len(diagnosis.evidence.shares)


@given(nested_tables(), st.integers(1, 29))
def test_counts_and_maxima_do_not_depend_on_the_chunks(made: Interruptions, cut: int) -> None:
    def figures(*tables: Interruptions) -> Any:
        found: dict[tuple[int, tuple[str, ...]], tuple[int, int, int]] = {}
        for one in collect(recorded(*tables)).shares():
            count, net, largest = found.get((one.cpu, one.path), (0, 0, 0))
            found[one.cpu, one.path] = count + one.count, net + one.net_ns, max(largest, one.max_ns)
        return found

    assert figures(made) == figures(made[:cut], made[cut:])


@given(nested_tables(), st.integers(1, 29))
def test_the_blocks_of_a_share_add_up_to_it(made: Interruptions, cut: int) -> None:
    """In any pieces: what --against tests is all of the noise."""
    for tables in ((made,), (made[:cut], made[cut:])):
        shares = collect(recorded(*tables)).shares()
        assert all(len(one.blocks_ns) == BLOCKS for one in shares)
        assert [sum(one.blocks_ns) for one in shares] == [one.net_ns for one in shares]


def test_counts_equal_the_summary() -> None:
    made = everything()
    expected = {
        (cpu.cpu, one.source.path): (one.count, one.net_ns, one.max_ns, one.max_start_ns)
        for cpu in summary_of(made).cpus
        for one in cpu.sources
        if one.count
    }
    found = {
        (one.cpu, one.path): (one.count, one.net_ns, one.max_ns, one.max_start_ns)
        for one in collect(everything()).shares()
    }
    assert found == expected


def test_an_interrupt_is_kept_apart_by_what_it_ran() -> None:
    sources = [TIMER, TICK]
    made = rows_of(
        interruption(1_100, 300, source=1, outermost=False),
        interruption(1_000, 1_000, source=0, net_ns=700),
        interruption(5_000, 200, source=0),
    )
    found = {(one.path, one.ran): one for one in collect(recorded(made, sources=sources)).shares()}
    assert found[TIMER.path, TICK.path].net_ns == 700
    assert found[TIMER.path, ()].net_ns == 200
    assert found[TICK.path, ()].net_ns == 300


def test_what_ran_is_found_in_the_chunk_before() -> None:
    inner = rows_of(interruption(1_100, 300, source=1, outermost=False))
    outer = rows_of(interruption(1_000, 1_000, source=0, net_ns=700))
    found = {one.ran for one in collect(recorded(inner, outer, sources=[TIMER, TICK])).shares()}
    assert found == {(), TICK.path}


def test_another_cpu_ran_it_not() -> None:
    made = rows_of(
        interruption(1_100, 300, source=1, cpu=3, outermost=False),
        interruption(1_000, 1_000, source=0),
    )
    assert {one.ran for one in collect(recorded(made, sources=[TIMER, TICK])).shares()} == {()}


def test_triggers_are_kept_apart_with_their_stacks() -> None:
    made = rows_of(*(interruption(1_000 * at, 100, source=3) for at in range(1, 7)))
    made["trigger"] = [1, 1, 1, 1, 0, 0]
    found = {one.trigger.task: one for one in collect(recorded(made)).shares()}
    assert (found["java"].count, found["java"].stack) == (4, ("membarrier_private_expedited",))
    assert (found[""].count, found[""].stack) == (2, ())


def test_period_of_what_is_regular() -> None:
    regular = rows_of(*(interruption(4_000_000 * at, 100, source=1) for at in range(1, 50)))
    (one,) = collect(recorded(regular[:20], regular[20:])).shares()
    assert abs(one.period_ns - 4_000_000) < 0.07 * 4_000_000
    random = np.random.default_rng(1)
    starts = np.cumsum(random.exponential(1e6, 200).astype(np.int64) + 1)
    (one,) = collect(
        recorded(rows_of(*(interruption(int(s), 9, source=1) for s in starts)))
    ).shares()
    assert one.period_ns == 0
    (one,) = collect(recorded(regular[:5])).shares()
    assert one.period_ns == 0


def test_idle_time_is_no_noise() -> None:
    assert collect(recorded(rows_of(interruption(0, 100, victim=0)))).shares() == ()


def test_what_the_head_of_a_recording_says() -> None:
    made = recorded(rows_of(interruption(0, 100)))
    made.metadata = {"online": "0-3", "nohz_full": "2-3"}
    found = evidence_of(made)
    assert (found.online, found.nohz_full) == ((0, 1, 2, 3), frozenset({2, 3}))
    made.metadata = {"online": "\x1b[2J", "nohz_full": 7.5}
    found = evidence_of(made, online=(0, 1))
    assert (found.online, found.nohz_full) == ((0, 1), frozenset())
    assert evidence_of(everything()).incomplete == "it was cut short"
