"""From kernel records to interruptions: which source each one belongs to, and what it is called."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from noisetop.event import INTERRUPTION, Events, Flag, Interruptions, Layout, Source, SourceKind
from noisetop.symbols import SymbolTable

_COPIED = ("start_ns", "gross_ns", "net_ns", "victim_tid", "tid", "cpu", "level", "flags")
_MIX = np.uint64(0x9E3779B97F4A7C15)
_LOW_BITS = np.uint64(0x0101010101010101)
_HIGH_BITS = np.uint64(0x8080808080808080)


@dataclass(slots=True)
class Names:
    """Where numbers in events get their names from; ``symbols`` is only called when needed."""

    softirqs: tuple[str, ...]
    irq_actions: dict[int, tuple[str, ...]]
    symbols: Callable[[], SymbolTable]


@dataclass(slots=True)
class Namer:
    """Turns kernel records into interruptions and keeps the list of the sources met so far."""

    layout: Layout
    names: Names
    sources: list[Source] = field(default_factory=list)
    functions: set[int] = field(default_factory=set)
    """Kernel addresses named so far."""
    tasks: dict[int, str] = field(default_factory=dict)
    """Names of victims by tid, as the events told them."""
    _index: dict[Source, int] = field(default_factory=dict)
    _known: npt.NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, np.uint64))
    _known_source: npt.NDArray[np.uint32] = field(default_factory=lambda: np.empty(0, np.uint32))

    def interruptions(self, events: Events) -> Interruptions:
        """The same intervals with their sources resolved, in the same order."""
        telling = events["flags"] & (Flag.NAME | Flag.TRIGGER | Flag.WAIT) != 0
        if telling.any():
            for event in events[events["flags"] & Flag.NAME != 0]:
                self.tasks[int(event["tid"])] = event["comm"].decode(errors="replace")
            kept = np.flatnonzero(~telling)
            events = (
                events.view(np.uint8).reshape(len(events), -1)[kept].reshape(-1).view(events.dtype)
            )
        table = np.empty(len(events), INTERRUPTION)
        for name in _COPIED:
            table[name] = events[name]
        if len(events):
            table["source"] = self._resolve(events)
        return table

    def _resolve(self, events: Events) -> npt.NDArray[np.uint32]:
        keys = self._keys(events)
        place = np.searchsorted(self._known, keys)
        place[place == len(self._known)] = 0
        new = np.ones(len(keys), bool) if not len(self._known) else self._known[place] != keys
        if new.any():
            self._learn(events[new], keys[new])
            place = np.searchsorted(self._known, keys)
        return self._known_source[place]

    def _learn(self, events: Events, keys: npt.NDArray[np.uint64]) -> None:
        fresh, first = np.unique(keys, return_index=True)
        indices = [self._intern(self._source_of(events[i])) for i in first]
        known = np.concatenate([self._known, fresh])
        source = np.concatenate([self._known_source, np.array(indices, np.uint32)])
        order = np.argsort(known)
        self._known, self._known_source = known[order], source[order]

    def _intern(self, source: Source) -> int:
        if source not in self._index:
            self._index[source] = len(self.sources)
            self.sources.append(source)
        return self._index[source]

    def _keys(self, events: Events) -> npt.NDArray[np.uint64]:
        """A 64-bit hash per event of all that its path depends on.

        Two different identities share one with a chance of 2^-64 per pair.
        """
        kinds = self.layout.kinds
        identified = np.zeros(256, bool)
        commed = np.zeros(256, bool)
        for number, kind in kinds.items():
            identified[number] = kind.identity not in ("none", "task")
            commed[number] = kind.identity in ("irq", "task")
        flags = events["flags"]
        has_comm = commed[events["source"]] | (flags & Flag.THREADED != 0)
        words = _comm_words(events["comm"]) * has_comm[:, None]
        key = events["source"].astype(np.uint64)
        key |= events["parent_source"].astype(np.uint64) << np.uint64(8)
        key |= events["parent_id"].astype(np.uint64) << np.uint64(16)
        key |= (flags & (Flag.THREADED | Flag.SELF)).astype(np.uint64) << np.uint64(32)
        for word in (events["id"] * identified[events["source"]], words[:, 0], words[:, 1]):
            key = _mix(key) ^ word
        return _mix(key)

    def _source_of(self, event: np.void) -> Source:
        kind = self.layout.kinds[int(event["source"])]
        comm = event["comm"].decode(errors="replace")
        threaded = bool(event["flags"] & Flag.THREADED)
        if kind.identity == "task":
            return Source(
                ("thread", "self", comm) if event["flags"] & Flag.SELF else ("thread", comm)
            )
        steps = self._steps(kind, int(event["id"]), comm)
        parent = self.layout.kinds[int(event["parent_source"])]
        if parent is not kind:
            around = self._steps(parent, int(event["parent_id"]), "")
            steps = (parent.noise_class, *around[1:], steps[-1])
        if threaded:
            steps = ("thread", comm, *(steps[-1:] if kind.noise_class == "thread" else steps[1:]))
        return Source(steps)

    def _steps(self, kind: SourceKind, number: int, comm: str) -> tuple[str, ...]:
        """Path of something on its own, without what was around it."""
        if kind.identity == "irq":
            return (kind.noise_class, f"{number} {self._action_name(number, comm)}".strip())
        if kind.identity == "softirq":
            known = number < len(self.names.softirqs)
            return (kind.noise_class, self.names.softirqs[number] if known else str(number))
        if kind.identity == "function":
            self.functions.add(number)
            function = self.names.symbols().name(number)
            own = () if kind.name == kind.noise_class else (kind.name,)
            return (kind.noise_class, *own, function)
        return (kind.noise_class, kind.name)

    def _action_name(self, number: int, comm: str) -> str:
        """The action's full name; the event carries its first 15 bytes."""
        actions = self.names.irq_actions.get(number, ())
        matching = [name for name in actions if name.startswith(comm)]
        return matching[0] if len(matching) == 1 or (matching and not comm) else comm


def _mix(key: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Finalizer of a 64-bit hash: every input bit reaches every output bit."""
    key = (key ^ (key >> np.uint64(32))) * _MIX
    key = (key ^ (key >> np.uint64(29))) * _MIX
    return key ^ (key >> np.uint64(32))


def _comm_words(comm: npt.NDArray[np.bytes_]) -> npt.NDArray[np.uint64]:
    """Task names as two integers each; NumPy pads what follows the first NUL with zeros only on
    output, so stale bytes behind it are cut off here."""
    words = np.ascontiguousarray(comm).view("<u8").reshape(len(comm), -1)
    # The lowest byte that is zero has the lowest of these bits set.
    zeros = (words - _LOW_BITS) & ~words & _HIGH_BITS
    lowest = zeros & (~zeros + np.uint64(1))
    kept: npt.NDArray[np.uint64] = words & ((lowest >> np.uint64(7)) - np.uint64(1))
    kept[:, 1] *= zeros[:, 0] == 0
    return kept
