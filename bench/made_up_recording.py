"""A recording of any size that no kernel wrote, for measuring what reads recordings.

What it holds is about what a busy CPU records: timers with their callbacks, softirqs, interrupts
between CPUs with the function that they ran, threads, reschedules, waits, and a trigger for a
third of it. Needs no privileges, and the same sizes give the same bytes.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from noisetop import _native
from noisetop.counters.period import PeriodCounters
from noisetop.events.interruption import Flag
from noisetop.events.layout import Layout
from noisetop.events.source_names import Names
from noisetop.events.symbols import SymbolTable
from noisetop.recording.block_file import PlainBlockFile
from noisetop.recording.event_block import packed_events
from noisetop.recording.raw_file import SpoolWriter

START_NS = 5_000_000_000
_TURN_NS = 102_400_000
_CYCLES, _FEWEST_CYCLES = 2_048, 64
_FUNCTIONS = 0xFFFFFFFF81000000
_OBJECTS = 0xFFFF888000000000
_FIRST_VICTIM = 1_000
_FIRST_WAKER = 500_000
_WAKERS = 20
_TIMERS = 50
_NO_STACK = 0xFFFFFFFF
_THREAD, _SOFTIRQ, _IRQ, _CALLBACK = 0, 2, 4, 6

Raw = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Size:
    """What a recording is made of."""

    records: int
    """At least that many: interruptions, triggers and waits."""
    cpus: int = 2
    functions: int = 20
    """Distinct functions of timers and of calls between CPUs: a source each."""
    victims: int = 8
    """Threads that lose the time."""

    @property
    def cycles(self) -> int:
        """Of a CPU in each turn. Where there are many CPUs each has less to tell, as no reader of
        the rings keeps up with more than some two million records a second."""
        return max(_CYCLES // self.cpus, _FEWEST_CYCLES)


class _Cycles:
    """Builds the records of many cycles, one kind after another."""

    def __init__(self, layout: Layout, size: Size) -> None:
        self.layout = layout
        self.cycles = size.cycles
        self._ids = {kind.name: number for number, kind in layout.kinds.items()}
        self._random = np.random.default_rng(1)
        self._at = np.arange(self.cycles, dtype=np.uint64)
        self._begins = START_NS + self._at * (_TURN_NS // self.cycles)
        self._function = _FUNCTIONS + 16 * (self._at % np.uint64(size.functions))
        self._object = _OBJECTS + 64 * (self._at % np.uint64(_TIMERS))
        self._victim = _FIRST_VICTIM + self._at % np.uint64(size.victims)

    def event(self, name: str, start: int, gross: int, level: int, **more: Any) -> Raw:
        """One interval per cycle, ``start`` ns after its begin; some last longer."""
        rows = np.zeros(self.cycles, self.layout.event)
        rows["source"] = rows["parent_source"] = self._ids[name]
        rows["start_ns"] = self._begins + start
        rows["gross_ns"] = gross + self._random.integers(0, gross // 4, self.cycles)
        rows["net_ns"] = rows["gross_ns"]
        rows["victim_tid"] = rows["tid"] = self._victim
        rows["level"] = level
        rows["flags"] = 0 if level == _CALLBACK else int(Flag.OUTERMOST)
        for field, value in more.items():
            rows[field] = value
        return _bytes_of(rows)

    def around(self, inner: Raw, name: str) -> Raw:
        """The interrupt that ran it: begins 300 ns earlier and ends 200 ns later."""
        rows = inner.reshape(-1).copy().view(self.layout.event)
        rows["source"] = rows["parent_source"] = self._ids[name]
        rows["start_ns"] -= 300
        rows["gross_ns"] += 500
        rows["net_ns"] = 500
        rows["id"] = rows["object"] = rows["parent_id"] = 0
        rows["level"], rows["flags"] = _IRQ, int(Flag.OUTERMOST)
        return _bytes_of(rows)

    def trigger(self, name: str, time: int, *, function: bool, by_object: bool) -> Raw:
        """One trigger per cycle."""
        rows = np.zeros(self.cycles, self.layout.trigger)
        rows["source"] = self._ids[name]
        rows["time_ns"] = self._begins + time
        rows["function"] = self._function if function else 0
        rows["object"] = self._object if by_object else 0
        rows["tid"] = _FIRST_WAKER + self._at % np.uint64(_WAKERS)
        rows["stack"], rows["flags"] = _NO_STACK, self.layout.flags["TRIGGER"]
        return _bytes_of(rows)

    def records(self) -> Raw:
        """All kinds of all cycles, in the order of their ends; a row per record."""
        timer: dict[str, Any] = {"id": self._function, "object": self._object}
        timer |= {"parent_source": self._ids["local_timer"]}
        call = timer | {"parent_source": self._ids["call_function_single"]}
        hrtimer = self.event("hrtimer", 10_000, 800, _CALLBACK, **timer)
        csd = self.event("csd", 30_000, 500, _CALLBACK, **call)
        waker = _FIRST_WAKER + self._at % np.uint64(_WAKERS)
        thread = waker << np.uint64(32) | waker
        woken = {"id": thread, "tid": waker, "comm": b"kworker/0:1"}
        kinds = [
            self.trigger("hrtimer_start", 500, function=True, by_object=True),
            hrtimer,
            self.around(hrtimer, "local_timer"),
            self.event("softirq", 12_000, 1_500, _SOFTIRQ, id=1),
            self.trigger("csd_queue", 29_000, function=True, by_object=True),
            csd,
            self.around(csd, "call_function_single"),
            self.trigger("reschedule_send", 49_000, function=False, by_object=False),
            self.event("reschedule", 50_000, 700, _IRQ),
            self.event("thread", 52_000, 9_000, _THREAD, **woken),
            self.event("thread", 52_000, 9_000, 1, flags=self.layout.flags["WAIT"], id=waker),
        ]
        return np.stack(kinds, axis=1).reshape(-1, self.layout.event.itemsize)


def _bytes_of(rows: npt.NDArray[np.void]) -> Raw:
    """As plain bytes, because NumPy copies overlapping fields one by one."""
    return rows.view(np.uint8).reshape(len(rows), -1)


def write_made_up(path: Path, size: Size) -> int:
    """Writes it; the number of records in it, without the names of its tasks.

    Raises OSError when the file cannot be written.
    """
    layout = Layout.from_native(_native.layout())
    records = _Cycles(layout, size).records()
    blocks = -(-size.records // len(records))
    # A CPU's turn is as long as the time between two visits of the reader.
    rounds = -(-blocks // size.cpus)
    end_ns = START_NS + (rounds + 1) * _TURN_NS
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
    kinds = layout.block_kinds
    try:
        file = PlainBlockFile(fd, layout)
        writer = SpoolWriter(layout, file)
        writer.write_head({"host": "made up"}, _names(size), tuple(range(size.cpus)))
        file.append(kinds["START"], START_NS.to_bytes(8, "little"))
        file.append(kinds["PACKED"], _packed(layout, _task_names(layout, size)))
        for number in range(blocks):
            turn, cpu = divmod(number, size.cpus)
            file.append(kinds["PACKED"], _packed(layout, _moved(layout, records, turn, cpu)))
        writer.write_end(end_ns, PeriodCounters(), "")
    finally:
        os.close(fd)
    return blocks * len(records)


def _packed(layout: Layout, records: Raw) -> bytes:
    """The payload of a block."""
    return packed_events(np.frombuffer(records.tobytes(), layout.event), layout)


def _moved(layout: Layout, records: Raw, turn: int, cpu: int) -> Raw:
    """The records of a later time on another CPU."""
    moved = records.copy()
    events = moved.reshape(-1).view(layout.event)
    events["start_ns"] += turn * _TURN_NS
    is_trigger = events["flags"] & layout.flags["TRIGGER"] != 0
    events["cpu"] = cpu
    triggers = moved.reshape(-1).view(layout.trigger)
    triggers["target_cpu"][is_trigger] = cpu
    triggers["cpu"][is_trigger] = cpu + 1
    # What one timer or call is on this CPU, is another one on the next.
    moved.view(np.uint64)[:, _word_of(layout.trigger, "object")][is_trigger] += cpu << 16
    has_object = ~is_trigger & (events["level"] == _CALLBACK)
    moved.view(np.uint64)[:, _word_of(layout.event, "object")][has_object] += cpu << 16
    return moved


def _word_of(dtype: np.dtype[np.void], field: str) -> int:
    assert dtype.fields is not None
    return int(dtype.fields[field][1]) // 8


def _task_names(layout: Layout, size: Size) -> Raw:
    """The records that tell what the tasks are called."""
    tids = [*range(_FIRST_VICTIM, _FIRST_VICTIM + size.victims)]
    tids += range(_FIRST_WAKER, _FIRST_WAKER + _WAKERS)
    rows = np.zeros(len(tids), layout.event)
    rows["start_ns"], rows["tid"], rows["id"] = START_NS, tids, tids
    rows["flags"] = layout.flags["NAME"]
    rows["comm"] = [f"task {tid}".encode() for tid in tids]
    return _bytes_of(rows)


def _names(size: Size) -> Names:
    functions = range(size.functions)
    lines = "".join(f"{_FUNCTIONS + 16 * n:016x} t function_{n}\n" for n in functions)
    symbols = SymbolTable(lines.encode())
    return Names(("HI", "TIMER"), {}, lambda: symbols)
