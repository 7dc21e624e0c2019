"""Sums over interruptions by CPU, source, what ran inside, who caused it and whose doing it was."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from noisetop._tables import Groups, add_up
from noisetop.counters.calibration import EntryCost
from noisetop.events.interruption import Flag, Interruptions
from noisetop.summary.cost import Entries, fitting
from noisetop.summary.trigger_totals import TASKS, TriggerSummary, TriggerTotals
from noisetop.tables.group_sums import TOTAL, Sums, counted, no_sums, widened
from noisetop.tables.rows import select

Index = npt.NDArray[np.int64]


class GroupKey(NamedTuple):
    """What the interruptions of a group share; numbers of sources and triggers, ``ran`` or -1."""

    cpu: int
    source: int
    ran: int
    trigger: int
    whose: int
    """As the caller numbers it."""


@dataclass(frozen=True, slots=True)
class GroupTotals:
    """Figures of a group."""

    count: int
    net_ns: int
    max_ns: int
    max_start_ns: int
    entries: int
    """Those that carry the cost of an entry into the kernel or of a switch."""
    cold: int
    """Those of ``entries`` that are cold."""
    blocks_ns: tuple[int, ...]
    tasks: tuple[TriggerSummary, ...]
    """Of threads those that ran, by the ``tid`` of what stands for a trigger."""


class Places(NamedTuple):
    """Where the rows of a table belong."""

    ran: Index
    """The source inside each, -1 for nothing."""
    whose: Index
    """See GroupKey."""
    block: Index
    """Of time."""
    threads: npt.NDArray[np.bool_]
    """Those that are threads."""


@dataclass(slots=True)
class Totals:
    """Takes tables in any number of pieces; the order of these does not matter."""

    blocks: int
    """How many blocks of time are kept apart for each group; 0: none."""
    _keys: list[GroupKey] = field(default_factory=list)
    _sums: Sums = field(default_factory=no_sums)
    _entries: Index = field(default_factory=lambda: np.zeros(0, np.int64))
    _cold: Index = field(default_factory=lambda: np.zeros(0, np.int64))
    _blocks_ns: Index = field(init=False)
    _groups: Groups = field(default_factory=lambda: Groups(5))
    _by_task: TriggerTotals = field(default_factory=lambda: TriggerTotals(TASKS))

    def __post_init__(self) -> None:
        self._blocks_ns = np.zeros((0, self.blocks), np.int64)

    def add(self, table: Interruptions, places: Places) -> None:
        """Adds interruptions, at least one."""
        groups = np.empty(len(table), np.uint32)
        columns = table["cpu"], table["source"], places.ran, table["trigger"], places.whose
        for row in self._groups.numbers(columns, groups):
            self._keys.append(GroupKey(*(int(column[row]) for column in columns)))
        self._grow()
        add_up((groups, table["net_ns"], table["start_ns"]), self._sums, None)
        carries, cold = Flag.ENTRY.among(table["flags"]), Flag.COLD.among(table["flags"])
        self._entries = counted(self._entries, groups[carries], len(self._keys))
        self._cold = counted(self._cold, groups[cold], len(self._keys))
        ran, is_thread = select(table, places.threads), places.threads
        self._by_task.add(
            groups[is_thread], ran["tid"], ran["net_ns"], carries[is_thread], cold[is_thread]
        )
        if self.blocks:
            cells = groups.astype(np.int64) * self.blocks + places.block
            np.add.at(self._blocks_ns.reshape(-1), cells, table["net_ns"].astype(np.int64))

    def _grow(self) -> None:
        more = len(self._keys) - len(self._sums)
        if more > 0:
            self._sums = widened(self._sums, len(self._keys))
            cells = np.zeros((more, self.blocks), np.int64)
            self._blocks_ns = np.concatenate([self._blocks_ns, cells])

    def groups(
        self, entry_of: Callable[[GroupKey], EntryCost | None], wall_ns: int = 0
    ) -> Iterator[tuple[GroupKey, GroupTotals, EntryCost | None]]:
        """All that was added so far, with the cost of an entry of each group; in ``wall_ns`` on
        each CPU, see fitting()."""
        rows = [
            Entries(key.cpu, net_ns, count, cold, entry_of(key))
            for key, net_ns, count, cold in zip(
                self._keys,
                self._sums[:, TOTAL].tolist(),
                self._entries.tolist(),
                self._cold.tolist(),
                strict=True,
            )
        ]
        costs = fitting(rows, wall_ns)
        tasks = self._by_task.by_row(costs.__getitem__)
        sums, blocks = self._sums.tolist(), self._blocks_ns.tolist()
        for row, key in enumerate(self._keys):
            count, net_ns, max_ns, since_ns = sums[row]
            yield (
                key,
                GroupTotals(
                    count,
                    net_ns,
                    max_ns,
                    since_ns,
                    rows[row].entries,
                    rows[row].cold,
                    tuple(blocks[row]),
                    tasks.get(row, ()),
                ),
                costs[row],
            )
