"""Who is behind noise, as people know them: programs, who starts them again and again, senders."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from noisetop.diagnosis.evidence import Evidence, Share, is_program
from noisetop.events.trigger import CLOCKS
from noisetop.summary.short_lived import ShortLived
from noisetop.text.units import format_count


@dataclass(frozen=True, slots=True)
class Culprit:
    """A task or a program with what it took. Its texts are untrusted."""

    label: str
    """``app 4711 (unit app.service)``, ``24 starts/s of ls by cron.sh (PID 4711)``."""
    name: str
    pid: int
    """Its process; of one that is started again and again the one that starts it; 0: not known."""
    ran: bool
    """Whether it took the time itself."""
    starts: int
    """How often it was started; 0: not again and again."""
    count: int
    net_ns: int
    cost_ns: int

    @property
    def told(self) -> str:
        """Its name in a sentence."""
        return f"{self.name} ({self.label})" if self.starts else self.name


class _Who(NamedTuple):
    label: str
    name: str
    pid: int
    ran: bool
    starts: int = 0


@dataclass(frozen=True, slots=True)
class _Part:
    who: _Who
    count: int
    net_ns: int
    cost_ns: int


def culprits(shares: Iterable[Share], evidence: Evidence) -> tuple[Culprit, ...]:
    """Programs that ran, or tasks that had something run; largest cost first."""
    started = {(one.name, one.starter): one for one in evidence.short_lived}
    totals: dict[_Who, list[_Part]] = {}
    for share in shares:
        for part in _parts(share, evidence, started):
            totals.setdefault(part.who, []).append(part)
    found = [
        Culprit(
            *who,
            sum(part.count for part in same),
            sum(part.net_ns for part in same),
            sum(part.cost_ns for part in same),
        )
        for who, same in totals.items()
    ]
    return tuple(sorted(found, key=lambda one: (-one.cost_ns, one.label)))


Started = dict[tuple[str, int], ShortLived]


def _parts(share: Share, evidence: Evidence, started: Started) -> Iterator[_Part]:
    whole = share.count, share.net_ns, share.rank_ns
    if not is_program(share.path):
        if who := _sender(share, evidence):
            yield _Part(who, *whole)
        return
    name = share.path[-1]
    unknown = _Who(name, name, 0, ran=True)
    for task in share.tasks:
        tid = task.trigger.tid
        who = _program(tid, name, evidence, started) if tid else unknown
        yield _Part(who, task.count, task.net_ns, task.rank_ns)
    if not share.tasks:
        yield _Part(unknown, *whole)


def _sender(share: Share, evidence: Evidence) -> _Who | None:
    trigger = share.trigger
    if not share.sender or trigger.context in CLOCKS:
        return None
    about = evidence.directory.about(share.sender)
    label = f"{trigger.label} ({about})" if about else trigger.label
    return _Who(label, trigger.task, evidence.process_of(share.sender), ran=False)


def _program(tid: int, name: str, evidence: Evidence, started: Started) -> _Who:
    directory, pid = evidence.directory, evidence.process_of(tid)
    starter = directory.parent(tid) if pid == tid else pid
    again = started.get((directory.name(tid), starter))
    if again is None:
        group = directory.cgroup(tid).label
        return _Who(f"{name} {pid or tid}" + (f" ({group})" if group else ""), name, pid, ran=True)
    rate = format_count(again.starts * 1e9 / evidence.duration_ns)
    by = directory.describe_process(starter)
    return _Who(
        f"{rate} starts/s of {again.name} by {by}",
        again.name,
        starter,
        ran=True,
        starts=again.starts,
    )
