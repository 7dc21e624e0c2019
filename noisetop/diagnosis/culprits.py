"""Who is behind noise, as people know them: programs, who starts them again and again, senders."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from noisetop.diagnosis.evidence import Evidence, Share
from noisetop.events.trigger import CLOCKS
from noisetop.text.units import format_count

_TOLD = 2
"""Programs that one process starts again and again: so many are named."""
_BINDERS = frozenset({"taskset", "numactl"})
"""Programs that say where another one runs."""


@dataclass(frozen=True, slots=True)
class Culprit:
    """A process with what it took. Its texts are untrusted."""

    label: str
    """``app 4711 (unit app.service)``, ``24 starts/s of ls by cron.sh (PID 4711)``."""
    name: str
    """Of the task."""
    pid: int
    """Of tasks that are started again and again, of the process that starts them; 0: not known."""
    ran: bool
    """Whether it took the time itself."""
    starts_per_s: float
    """How often it starts tasks; 0: not again and again."""
    binds: bool
    """Whether it says where they run."""
    count: int
    net_ns: int
    cost_ns: int

    @property
    def told(self) -> str:
        """Its name in a sentence."""
        return self.label if self.starts_per_s else self.name


@dataclass(frozen=True, slots=True)
class _Part:
    """What one task took under one name, or what one trigger had something else take."""

    key: str | int
    """The process, where it is known."""
    name: str
    """Of the task, as late as it is known."""
    label: str
    ran: bool
    starter: bool
    """Whether that process starts tasks like it again and again."""
    binds: bool
    count: int
    net_ns: int
    cost_ns: int


def culprits(shares: Iterable[Share], evidence: Evidence) -> tuple[Culprit, ...]:
    """Programs that ran, or tasks that had something run; largest cost first."""
    groups: dict[str | int, list[_Part]] = {}
    for share in shares:
        for part in _parts(share, evidence):
            groups.setdefault(part.key, []).append(part)
    found = [_culprit(parts, evidence) for parts in groups.values()]
    return tuple(sorted(found, key=lambda one: (-one.cost_ns, one.label)))


def _culprit(parts: list[_Part], evidence: Evidence) -> Culprit:
    costs: dict[str, int] = {}
    any_starter = any(part.starter for part in parts)
    for part in parts:
        if part.starter or not any_starter:
            costs[part.name] = costs.get(part.name, 0) + part.cost_ns
    names = sorted(costs, key=lambda name: (-costs[name], name))
    key, label = parts[0].key, max(parts, key=lambda part: part.cost_ns).label
    pid = key if isinstance(key, int) else 0
    starts = sum(
        one.starts for one in evidence.short_lived if one.starter == pid and one.name in costs
    )
    rate = starts * 1e9 / evidence.duration_ns if any_starter else 0.0
    if rate:
        more = ", …" if len(names) > _TOLD else ""
        by = evidence.directory.describe_process(pid)
        label = f"{format_count(rate)} starts/s of {', '.join(names[:_TOLD])}{more} by {by}"
    return Culprit(
        label=label,
        name=names[0],
        pid=pid,
        ran=any(part.ran for part in parts),
        starts_per_s=rate,
        binds=any(part.binds for part in parts),
        count=sum(part.count for part in parts),
        net_ns=sum(part.net_ns for part in parts),
        cost_ns=sum(part.cost_ns for part in parts),
    )


def _parts(share: Share, evidence: Evidence) -> Iterator[_Part]:
    whole = share.count, share.net_ns, share.rank_ns
    if not share.is_program:
        trigger = share.trigger
        if share.sender and trigger.context not in CLOCKS:
            about = evidence.directory.about(share.sender)
            label = f"{trigger.label} ({about})" if about else trigger.label
            pid = evidence.process_of(share.sender)
            yield _Part(pid or label, trigger.task, label, False, False, False, *whole)
        return
    name = share.path[-1]
    for task in share.tasks:
        figures = task.count, task.net_ns, task.rank_ns
        yield _program(task.trigger.tid, name, figures, evidence)
    if not share.tasks:
        yield _Part(name, name, name, True, False, False, *whole)


def _program(tid: int, name: str, figures: tuple[int, int, int], evidence: Evidence) -> _Part:
    directory, pid = evidence.directory, evidence.process_of(tid)
    if not pid:
        return _Part(name, name, f"{name} {tid}" if tid else name, True, False, False, *figures)
    starter = directory.parent(tid) if pid == tid else pid
    latest = directory.name(tid) or name
    if any(one.name == latest and one.starter == starter for one in evidence.short_lived):
        return _Part(starter, latest, latest, True, True, name in _BINDERS, *figures)
    group = directory.cgroup(tid).label
    label = f"{name} {pid} ({group})" if group else f"{name} {pid}"
    return _Part(pid, name, label, True, False, False, *figures)
