"""What the tracer says of a load: everything from before its beginning until after its end."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from noisetop.counters.losses import LOSSES, Losses
from noisetop.events.interruption import Interruptions, Source
from noisetop.events.symbols import SymbolTable, read_kallsyms
from noisetop.events.trigger import Trigger
from noisetop.events.victim_time import VictimTime
from noisetop.events.waits import TaskWait
from noisetop.machine import system
from noisetop.tracing.program_sets import COMPLETE, ProgramSet
from noisetop.tracing.target import Target
from noisetop.tracing.tracer import Tracer
from tests.kernel import books
from tests.kernel.program import SLOWER

_TICKS_S = 0.03 * SLOWER


@dataclass
class Traced:
    """What was traced while a load ran."""

    table: Interruptions
    sources: list[Source]
    triggers: list[Trigger]
    waits: Mapping[int, TaskWait]
    losses: Losses
    stacks: dict[int, tuple[str, ...]]
    hidden: int
    """How many events some guests' kernels may have kept from their tracepoints: one in each slice
    of the threads of process 1."""
    victims: Mapping[int, VictimTime]
    duration_ns: int

    def rows(self, *path: str) -> Interruptions:
        """Interruptions whose source's path begins and ends like this; "…" stands for what lies
        between."""
        wanted = [i for i, source in enumerate(self.sources) if _matches(source.path, path)]
        rows: Interruptions = self.table[np.isin(self.table["source"], wanted)]
        return rows

    def causes(self, rows: Interruptions) -> dict[Trigger, int]:
        """How often each trigger stands behind these rows."""
        numbers, counts = np.unique(rows["trigger"], return_counts=True)
        return {self.triggers[n]: c for n, c in zip(numbers.tolist(), counts.tolist(), strict=True)}

    def tids(self, rows: Interruptions) -> npt.NDArray[np.int64]:
        """For each row the tid of its trigger's task, 0 where there is none."""
        tids: npt.NDArray[np.int64] = np.array([t.tid for t in self.triggers])[rows["trigger"]]
        return tids


def _matches(path: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    if "…" not in wanted:
        return path == wanted
    gap = wanted.index("…")
    head, tail = wanted[:gap], wanted[gap + 1 :]
    return (
        len(path) >= len(head) + len(tail)
        and path[:gap] == head
        and path[len(path) - len(tail) :] == tail
    )


def kernel_symbols() -> SymbolTable:
    """Of the kernel and its modules, read and sorted once for all tests. BPF programs that came
    later are not in it."""
    lines = system.read_text(Path("/proc/modules")).splitlines()  # none where there are no modules
    return _symbols_with(tuple(sorted(line.split()[0] for line in lines)))


@functools.lru_cache(maxsize=1)
def _symbols_with(_modules: tuple[str, ...]) -> SymbolTable:
    return read_kallsyms()


def trace(
    target: Target,
    *loads: Callable[[], None],
    ring_records: int = 1 << 16,
    faults: bool = False,
    entries: bool = False,
    housekeeping: tuple[int, ...] = (),
    programs: ProgramSet = COMPLETE,
) -> Traced:
    """Traces while the loads run one after the other; they return when they are over."""
    tables = []
    with Tracer(
        target, ring_records=ring_records, stacks=True, faults=faults, entries=entries,
        housekeeping=housekeeping, samples_cost=False, programs=programs,
    ) as tracer:  # fmt: skip
        slices = books.slices_of_init()
        tracer.start_window()
        for load in loads:
            load()
            tables.append(tracer.read())
        time.sleep(_TICKS_S)  # interrupts that are under way are no part of any condition
        tracer.stop_window()
        tables.append(tracer.read())
        reader = tracer.reader
        return Traced(
            table=np.concatenate(tables),
            sources=reader.namer.sources,
            triggers=reader.join.triggers,
            waits=reader.waits.by_task(),
            losses=tracer.window_counters().of(LOSSES),
            stacks=tracer.kernel_stacks(),
            hidden=books.slices_of_init() - slices,
            victims=reader.victims.close(tracer.end_ns),
            duration_ns=tracer.end_ns - tracer.start_ns,
        )
