"""An entry is cold if nothing entered the kernel on its CPU shortly before."""

from __future__ import annotations

from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from noisetop.events.cold_entries import COLD_NS, ColdEntries
from noisetop.events.interruption import Flag, Interruptions
from tests.recordings import START_NS, interruption, table

OUTERMOST, ENTRY, COLD = int(Flag.OUTERMOST), int(Flag.ENTRY), int(Flag.COLD)
LENGTHS = 1, 400, COLD_NS
FLAGS = 0, OUTERMOST, ENTRY, OUTERMOST | ENTRY
RESTS = 0, 1_000, COLD_NS - 1, COLD_NS, 3 * COLD_NS


def row(start_ns: int, length_ns: int, flags: int, cpu: int = 2) -> tuple[int, ...]:
    outermost = bool(flags & OUTERMOST)
    return interruption(start_ns, length_ns, cpu=cpu, outermost=outermost, flags=flags)


def marked(*pieces: Interruptions) -> list[bool]:
    cold, found = ColdEntries(), []
    for piece in pieces:
        cold.mark(piece)
        found += [bool(flags & COLD) for flags in piece["flags"]]
    return found


def spaced(*rests_ns: int, flags: int = OUTERMOST | ENTRY) -> Interruptions:
    """Interruptions of 100 ns on one CPU, each so long after the end of the one before."""
    rows, now = [], 0
    for rest_ns in rests_ns:
        now += rest_ns
        rows.append(row(now, 100, flags=flags))
        now += 100
    return table(*rows)


def test_the_rest_before_it_decides() -> None:
    assert marked(spaced(0, COLD_NS - 1, COLD_NS, 5, 2 * COLD_NS)) == [
        True,  # nothing is known of what was before
        False,
        True,
        False,
        True,
    ]


def test_only_entries_are_cold() -> None:
    assert not any(marked(spaced(0, COLD_NS, 2 * COLD_NS, flags=OUTERMOST)))


def test_the_first_function_of_an_interrupt_has_its_entry() -> None:
    """It ends before the interrupt that called it, and is no rest for what that calls next."""
    rows = [
        row(COLD_NS + 10, 20, flags=ENTRY),
        row(COLD_NS, 100, flags=OUTERMOST),
        row(COLD_NS + 300, 20, flags=ENTRY),
        row(COLD_NS + 290, 100, flags=OUTERMOST),
    ]
    assert marked(table(*rows)) == [True, False, False, False]


def test_each_cpu_rests_for_itself() -> None:
    rows = [
        row(at * 1_000, 100, cpu=cpu, flags=OUTERMOST | ENTRY)
        for at, cpu in enumerate((3, 5, 3, 5))
    ]
    assert marked(table(*rows)) == [True, True, False, False]


def test_what_goes_on_is_no_end_of_a_rest() -> None:
    cold = ColdEntries()
    cold.mark(spaced(0))
    going_on = table(row(COLD_NS + 500, 100, flags=OUTERMOST | ENTRY))
    cold.mark_going_on(going_on)
    assert going_on["flags"][0] & COLD
    after = table(row(COLD_NS + 500, 900, flags=OUTERMOST | ENTRY))
    cold.mark(after)
    assert after["flags"][0] & COLD


def test_a_restart_forgets() -> None:
    cold = ColdEntries()
    cold.mark(spaced(0))
    cold.restart()
    again = spaced(200)
    cold.mark(again)
    assert again["flags"][0] & COLD


@st.composite
def tables(draw: st.DrawFn) -> Interruptions:
    now, rows = [0, 0, 0], []
    for _ in range(draw(st.integers(0, 30))):
        cpu = draw(st.integers(0, 2))
        start_ns = now[cpu] + draw(st.sampled_from(RESTS))
        length_ns = draw(st.sampled_from(LENGTHS))
        now[cpu] = start_ns + length_ns
        rows.append(row(start_ns, length_ns, cpu=cpu, flags=draw(st.sampled_from(FLAGS))))
    return table(*rows)


@given(tables(), st.randoms(), st.integers(0, 6 * COLD_NS))
def test_wherever_tables_are_cut(rows: Interruptions, random: Random, moment_ns: int) -> None:
    """By what had ended; in which order a table has that makes no difference."""
    order = list(range(len(rows)))
    random.shuffle(order)
    mixed = rows[order]
    has_ended = ends_of(mixed) <= START_NS + moment_ns
    whole, parts = mixed.copy(), (mixed[has_ended].copy(), mixed[~has_ended].copy())
    expected = told(rows, one_by_one(rows))
    assert told(mixed, marked(whole)) == expected
    assert told(np.concatenate(parts), marked(*parts)) == expected


def ends_of(rows: Interruptions) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    ends: np.ndarray[tuple[int], np.dtype[np.uint64]] = rows["start_ns"] + rows["gross_ns"]
    return ends


def told(rows: Interruptions, cold: list[bool]) -> set[tuple[int, int, bool]]:
    """Every row of a CPU has an end of its own."""
    return set(zip(rows["cpu"].tolist(), ends_of(rows).tolist(), cold, strict=True))


def one_by_one(rows: Interruptions) -> list[bool]:
    last: dict[int, int] = {}
    found = []
    for one in rows:
        cpu, start_ns, flags = int(one["cpu"]), int(one["start_ns"]), int(one["flags"])
        is_cold = start_ns - last.get(cpu, -COLD_NS) >= COLD_NS
        found.append(bool(flags & ENTRY) and is_cold)
        if flags & OUTERMOST:
            last[cpu] = start_ns + int(one["gross_ns"])
    return found


def test_an_empty_table() -> None:
    assert marked(np.zeros(0, table().dtype)) == []
