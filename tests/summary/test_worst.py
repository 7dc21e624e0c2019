from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from noisetop.events.interruption import Interruptions
from noisetop.summary.recorded import summary_of
from noisetop.summary.worst import MAX_PARTS, summarize_with_worst
from tests.recordings import (
    SOURCES,
    START_NS,
    TRIGGERS,
    interruption,
    nested_tables,
    recording,
    table,
)


@given(nested_tables(), st.lists(st.integers(0, 60), max_size=3))
def test_the_parts_of_a_stretch_add_up_to_it(rows: Interruptions, cuts: list[int]) -> None:
    recorded = recording(*np.split(rows, sorted(cuts)))
    summary, worst = summarize_with_worst(recorded, 10)
    assert summary == summary_of(recorded)
    for one in worst:
        assert sum(part.net_ns for part in one.parts) + one.more_ns == one.interval.noise_ns
    longest = max((cpu.max_single_ns for cpu in summary.cpus), default=0)
    assert (worst[0].interval.noise_ns if worst else 0) == longest


def test_parts_come_in_order_with_what_they_interrupted_before_them() -> None:
    rows = table(
        interruption(200, 100, source=1, outermost=False),
        interruption(100, 1_000, source=4, net_ns=900, tid=9, victim=101),
        interruption(1_200, 50, source=2, victim=101),
        interruption(1_260, 9, source=2, victim=0),
        interruption(1_200, 10_000, source=2, cpu=3),
    )
    _, (longest, second) = summarize_with_worst(recording(rows), 10)
    assert (longest.interval.cpu, longest.interval.noise_ns) == (3, 10_000)
    assert second.victim_tid == 101
    assert second.interval.end_ns == START_NS + 1_250
    assert [(part.source, part.net_ns, part.depth) for part in second.parts] == [
        (SOURCES[4], 900, 0),
        (SOURCES[1], 100, 1),
        (SOURCES[2], 50, 0),
    ]


def test_of_many_parts_the_largest_are_kept_in_order() -> None:
    rows = [interruption(100 * i, 10 + 5 * (i % 3)) for i in range(30)]
    _, (one,) = summarize_with_worst(recording(table(*rows[:15]), table(*rows[15:])), 10)
    assert len(one.parts) == MAX_PARTS
    assert one.more_count == 30 - MAX_PARTS
    starts = [part.start_ns for part in one.parts]
    assert starts == sorted(starts)
    assert {part.net_ns for part in one.parts} == {20}


def test_a_part_tells_who_caused_it() -> None:
    rows = table(interruption(0, 50, trigger=2), interruption(60, 20))
    _, (one,) = summarize_with_worst(recording(rows), 10)
    assert [part.trigger for part in one.parts] == [TRIGGERS[2], TRIGGERS[0]]


def test_no_noise_no_worst() -> None:
    _, worst = summarize_with_worst(recording(table(interruption(0, 5, victim=0))), 10)
    assert worst == ()


def test_one_reading_of_many_tables_finds_the_parts_of_settled_stretches() -> None:
    """As if all had come in one table, although most tables are gone when the last one comes."""
    generator = np.random.default_rng(3)
    rows, now = [], 0
    for _ in range(4_000):
        now += int(generator.integers(100, 40_000_000))
        for _ in range(int(generator.integers(1, 12))):
            length = int(generator.integers(100, 30_000))
            rows.append(interruption(now, length, source=int(generator.integers(0, 6))))
            now += length + int(generator.integers(0, 900))
    whole = table(*rows)
    _, expected = summarize_with_worst(recording(whole), 10)
    cuts = np.sort(generator.integers(0, len(whole), 300))
    _, found = summarize_with_worst(recording(*np.split(whole, cuts)), 10)
    assert found == expected
    assert len(found) == 10


def test_a_stretch_that_grows_for_long_keeps_its_first_parts() -> None:
    """Open all the time: tables with its beginning are given up before it ends."""
    second = 1_000_000_000
    rows = [interruption(0, 5 * second, source=1)]
    rows += [interruption(at * second // 10, second // 10, source=2) for at in range(50, 300)]
    long = recording(*(table(row) for row in rows), duration_ns=30 * second)
    _, (one,) = summarize_with_worst(long, 10)
    assert one.interval.noise_ns == 30 * second
    assert one.parts[0].source == SOURCES[1]
    assert one.more_count + len(one.parts) == len(rows)
