"""Count and time of each trigger of each source, exact and in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from noisetop._tables import add_up
from noisetop.counters.calibration import EntryCost
from noisetop.events.trigger import Trigger
from noisetop.summary.cost import added, cost_of
from noisetop.tables.dictionary import DictionaryEncoder
from noisetop.tables.group_sums import COUNT, LARGEST, TOTAL, Sums, counted, no_sums, widened

KEPT = 64
"""Triggers of a source that are told apart."""
OTHERS = Trigger(context="others")
"""Stands for all that came after these."""
_REST = -1


class _Tasks(Sequence[Trigger]):
    """By tid what stands for a task that ran itself."""

    def __getitem__(self, tid: Any) -> Any:
        return Trigger(tid=tid)

    def __len__(self) -> int:
        return 1 << 32


TASKS = _Tasks()
"""Has TriggerTotals add up by the tid of the task that ran."""


@dataclass(slots=True)
class TriggerSummary:
    """What one trigger caused of one source. An empty trigger: the cause is not known. Not frozen:
    there are many, and a frozen one takes four times as long to make."""

    trigger: Trigger
    """Without the stacks that it had at the time."""
    count: int
    net_ns: int
    max_ns: int
    """Largest net time of one interruption."""
    cost_ns: int | None = None
    """Estimate with the entry costs; None: not calibrated."""
    entries: int = 0
    """Those of ``count`` that carry the cost of an entry."""
    cold: int = 0
    """Those of ``entries`` that are cold."""

    @property
    def rank_ns(self) -> int:
        """What it is ranked by: cost where that is known, else net time."""
        return self.net_ns if self.cost_ns is None else self.cost_ns


def largest_first(parts: Iterable[TriggerSummary]) -> tuple[TriggerSummary, ...]:
    """Adds up those of the same trigger; what is beyond the largest ``KEPT`` becomes OTHERS."""
    sums: dict[Trigger, list[int]] = {}
    costs: dict[Trigger, int | None] = {}
    for part in parts:
        so_far = sums.setdefault(part.trigger, [0, 0, 0, 0, 0])
        so_far[0] += part.count
        so_far[1] += part.net_ns
        if part.max_ns > so_far[2]:
            so_far[2] = part.max_ns
        so_far[3] += part.entries
        so_far[4] += part.cold
        costs[part.trigger] = added(costs.get(part.trigger, 0), part.cost_ns)
    return _bounded(
        TriggerSummary(trigger, count, net_ns, max_ns, costs[trigger], entries, cold)
        for trigger, (count, net_ns, max_ns, entries, cold) in sums.items()
    )


def _bounded(parts: Iterable[TriggerSummary], kept: int = KEPT) -> tuple[TriggerSummary, ...]:
    """Largest first; what is beyond the largest ``kept`` joins OTHERS. No trigger comes twice."""
    ordered: list[TriggerSummary] = []
    rest: list[TriggerSummary] = []
    for part in sorted(parts, key=_order):
        is_kept = len(ordered) < kept and part.trigger != OTHERS
        (ordered if is_kept else rest).append(part)
    if rest:
        ordered = sorted([*ordered, summed(OTHERS, rest)], key=_order)
    return tuple(ordered)


def _order(one: TriggerSummary) -> tuple[int, int, Trigger]:
    return -one.rank_ns, -one.count, one.trigger


def summed(trigger: Trigger, parts: Sequence[TriggerSummary]) -> TriggerSummary:
    """The parts as one under the name of ``trigger``."""
    return TriggerSummary(
        trigger,
        count=sum(part.count for part in parts),
        net_ns=sum(part.net_ns for part in parts),
        max_ns=max(part.max_ns for part in parts),
        cost_ns=added(*(part.cost_ns for part in parts)),
        entries=sum(part.entries for part in parts),
        cold=sum(part.cold for part in parts),
    )


@dataclass(slots=True)
class TriggerTotals:
    """Sums by the row of a source and trigger.

    ``triggers`` is the list that the tables index; it may grow between calls. Of each source the
    triggers that come first are kept apart, so that results do not depend on how tables were cut.
    """

    triggers: Sequence[Trigger]
    kept: int = KEPT
    """Of each source, how many are kept apart."""
    _groups: list[Trigger] = field(default_factory=list)
    _group_of: dict[Trigger, int] = field(default_factory=dict)
    _group_of_number: dict[int, int] = field(default_factory=dict)
    _slots: dict[int, dict[int, int]] = field(default_factory=dict)
    """By row and group, where the sums stand; ``_REST`` is the group of what is not kept."""
    _used: int = 0
    _sums: Sums = field(default_factory=no_sums)
    _entries: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    """Of those of each sum that carry the cost of an entry."""
    _cold: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    """Of these the cold ones."""
    _encoder: DictionaryEncoder = field(default_factory=lambda: DictionaryEncoder(2))

    def add(
        self,
        row: npt.NDArray[np.uint32],
        trigger: npt.NDArray[np.uint32],
        net_ns: npt.NDArray[np.uint64],
        carries: npt.NDArray[np.bool_],
        cold: npt.NDArray[np.bool_],
    ) -> None:
        """Adds interruptions, as the row of their source, their trigger and net time, whether they
        carry the cost of an entry, and whether of a cold one."""
        slots = self._encoder.numbers(
            (row, trigger),
            lambda at: self._slot(int(row[at]), int(trigger[at])),
        )
        self._sums = widened(self._sums, self._used)
        add_up((slots, net_ns, net_ns), self._sums, None)
        self._entries = counted(self._entries, slots[carries], self._used)
        self._cold = counted(self._cold, slots[cold], self._used)

    def _group(self, number: int) -> int:
        group = self._group_of_number.get(number)
        if group is not None:
            return group
        trigger = self.triggers[number]._replace(stack=-1, user_stack=-1)
        group = self._group_of.setdefault(trigger, len(self._groups))
        if group == len(self._groups):
            self._groups.append(trigger)
        self._group_of_number[number] = group
        return group

    def _slot(self, row: int, number: int) -> int:
        slots = self._slots.setdefault(row, {})
        is_full = len(slots) >= self.kept
        # Each task is one by itself: there may be any number of them.
        group = _REST if is_full and self.triggers is TASKS else self._group(number)
        if is_full and group not in slots:
            group = _REST
        if group not in slots:
            slots[group] = self._used
            self._used += 1
        return slots[group]

    def by_row(
        self, entry_of: Callable[[int], EntryCost | None] = lambda row: None
    ) -> dict[int, tuple[TriggerSummary, ...]]:
        """The triggers of each source that has any, largest first; ``entry_of`` gives the entry
        cost of a row."""
        sums = self._sums.tolist()
        entries = list(zip(self._entries.tolist(), self._cold.tolist(), strict=True))
        return {
            row: _bounded(self._of_row(slots, sums, entries, entry_of(row)), self.kept)
            for row, slots in self._slots.items()
        }

    def _of_row(
        self,
        slots: Mapping[int, int],
        sums: Sequence[Sequence[int]],
        entries: Sequence[tuple[int, int]],
        entry: EntryCost | None,
    ) -> Iterator[TriggerSummary]:
        for group, slot in slots.items():
            net_ns = sums[slot][TOTAL]
            yield TriggerSummary(
                OTHERS if group == _REST else self._groups[group],
                sums[slot][COUNT],
                net_ns,
                sums[slot][LARGEST],
                cost_of(net_ns, *entries[slot], entry),
                *entries[slot],
            )
