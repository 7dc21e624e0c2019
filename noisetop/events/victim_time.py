"""Where the time of a victim thread went in a period, to the nanosecond."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import TypeVar

from noisetop.events.interruption import OTHER_TID, Source

_Key = TypeVar("_Key")
ANY_TASK = "USERS"
"""``NOISE_VICTIMS_USERS``: whichever task is current is a victim, and may go where nobody looks."""


@dataclass(slots=True)
class VictimTime:
    """One thread in one period; the parts add up to ``wall_ns``. Not frozen: there are many, and a
    frozen one takes four times as long to make."""

    tid: int
    wall_ns: int
    on_cpu_ns: int
    """Undisturbed."""
    noise_ns: Mapping[str, int]
    """Net time of interruptions by the label of their origin, but for the two below."""
    self_ns: int
    """Net time of self-inflicted interruptions."""
    contention: Mapping[Source, int]
    """In which another task had its CPU, by that."""
    throttled_ns: int
    blocked_ns: int
    unattributed_ns: int
    run_ns: int
    """On a CPU, interruptions included."""
    delay_ns: int
    """Runnable and not running."""
    ran_on: Mapping[int, int] = field(default_factory=dict)
    """``run_ns`` by CPU; what ran where is not known of all of it."""

    @property
    def contention_ns(self) -> int:
        """In which another task had its CPU."""
        return sum(self.contention.values())

    def told_as(self, name: Callable[[Source], Source]) -> VictimTime:
        """The same with other names for those that competed, which may be one for several."""
        contention: Counter[Source] = Counter()
        for source, ns in self.contention.items():
            contention[name(source)] += ns
        return replace(self, contention=dict(contention))

    def adds_up(self) -> bool:
        """Whether its parts are its wall."""
        parts = (self.on_cpu_ns, *self.noise_ns.values(), self.self_ns, self.contention_ns)
        more = (self.throttled_ns, self.blocked_ns, self.unattributed_ns)
        return sum(parts) + sum(more) == self.wall_ns and min(*parts, *more) >= 0


def merged(one: Mapping[int, VictimTime], other: Mapping[int, VictimTime]) -> dict[int, VictimTime]:
    """Two periods, one after the other, as one."""
    found = dict(one)
    for tid, later in other.items():
        found[tid] = _added(tid, [found[tid], later]) if tid in found else later
    return found


def folded(victims: Mapping[int, VictimTime], kept: Set[int]) -> dict[int, VictimTime]:
    """All victims but the ``kept`` ones as OTHER_TID."""
    found = {tid: time for tid, time in victims.items() if tid in kept}
    if rest := [time for tid, time in victims.items() if tid not in kept]:
        found[OTHER_TID] = _added(OTHER_TID, rest)
    return found


def _added(tid: int, parts: Sequence[VictimTime]) -> VictimTime:
    return VictimTime(
        tid=tid,
        wall_ns=sum(one.wall_ns for one in parts),
        on_cpu_ns=sum(one.on_cpu_ns for one in parts),
        noise_ns=_sums(one.noise_ns for one in parts),
        self_ns=sum(one.self_ns for one in parts),
        contention=_sums(one.contention for one in parts),
        throttled_ns=sum(one.throttled_ns for one in parts),
        blocked_ns=sum(one.blocked_ns for one in parts),
        unattributed_ns=sum(one.unattributed_ns for one in parts),
        run_ns=sum(one.run_ns for one in parts),
        delay_ns=sum(one.delay_ns for one in parts),
        ran_on=_sums(one.ran_on for one in parts),
    )


def _sums(parts: Iterable[Mapping[_Key, int]]) -> dict[_Key, int]:
    """By key. Of many small parts a Counter takes several times as long."""
    found: dict[_Key, int] = {}
    for part in parts:
        for key, ns in part.items():
            found[key] = found.get(key, 0) + ns
    return found
