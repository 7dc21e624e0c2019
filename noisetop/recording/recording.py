"""A recording as every view sees it: tables of interruptions and what goes with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from noisetop.counters.calibration import BY_NET, CALIBRATION
from noisetop.counters.period import PeriodCounters
from noisetop.events.interruption import Interruptions, Source, interrupting
from noisetop.events.task_directory import TaskDirectory
from noisetop.events.trigger import Trigger, UserStacks
from noisetop.events.victim_stacks import VictimStacks
from noisetop.events.victim_time import VictimTime
from noisetop.events.waits import WaitBook
from noisetop.recording.thread_accounts import ThreadAccounts
from noisetop.recording.wall_check import WallCheck

_MAX_NS = (1 << 63) - 1
_MAX_CPU = (1 << 16) - 1


@dataclass(slots=True)
class Recording:
    """Interruptions of a period, wherever they are stored."""

    metadata: dict[str, Any]
    """Host, kernel, command line, topology, isolation; see noisetop.machine.system.describe()."""
    cpus: tuple[int, ...]
    start_ns: int
    end_ns: int
    sources: list[Source]
    """What the tables' ``source`` indexes; complete only after all chunks were read."""
    read_chunks: Callable[[], Iterator[Interruptions]]
    """Starts reading from the beginning, for all_chunks(). Within a CPU intervals come in the order
    of their end, but for those that interrupted the writing of another one."""
    triggers: list[Trigger] = field(default_factory=lambda: [Trigger()])
    """What the tables' ``trigger`` indexes; complete only after all chunks were read."""
    waits: WaitBook = field(default_factory=WaitBook)
    """Of the victims; complete only after all chunks were read."""
    stacks: dict[int, tuple[str, ...]] = field(default_factory=dict)
    """Kernel stacks of triggers by Trigger.stack, innermost function first."""
    user_stacks: UserStacks = field(default_factory=dict)
    victim_stacks: VictimStacks = field(default_factory=VictimStacks)
    """Which of ``user_stacks`` victims were in when they lost their CPU for long; complete only
    after all chunks were read."""
    counters: PeriodCounters = field(default_factory=PeriodCounters)
    """Side figures of the period, without events that take no time."""
    tasks: dict[int, str] = field(default_factory=dict)
    """Names of victims by tid; complete only after all chunks were read."""
    victims: dict[int, VictimTime] = field(default_factory=dict)
    """Where the time of each victim thread went, by tid; complete only after all chunks were read,
    empty where the records do not tell."""
    directory: TaskDirectory = field(default_factory=TaskDirectory)
    """Who the tasks are; complete only after all chunks were read."""
    ended: str = ""
    """Why it ended, in words for the user; empty: as asked."""
    accounts: ThreadAccounts | None = None
    """Tells where the time of victims went period by period; None: the records do not tell."""
    whole: Recording | None = None
    """The recording that this is a part of; see noisetop.recording.part."""
    damage: str = ""
    """What is wrong with the file although it could be read; empty: nothing. Complete only after
    all chunks were read."""

    @property
    def duration_ns(self) -> int:
        """Length of the recorded period."""
        return self.end_ns - self.start_ns

    def user_stack_of(self, trigger: Trigger) -> tuple[str, ...]:
        """Functions of the program that acted, innermost first; empty: not known."""
        return self.user_stacks.get((trigger.tid, trigger.user_stack), ())

    def rank_by_net(self) -> None:
        """Leaves out what was calibrated: views rank by exact net time."""
        self.counters = self.counters.with_value(CALIBRATION, BY_NET)

    def chunks(self) -> Iterator[Interruptions]:
        """All interruptions, in tables of bounded size."""
        return map(interrupting, self.all_chunks())

    def all_chunks(self) -> Iterator[Interruptions]:
        """All interruptions, and with them what is none: page faults, entries, moments of the
        hardware. What cannot be is left out, and told in ``damage`` when all were read."""
        if self.whole is not None:  # which is checked
            yield from self.read_chunks()
            return
        check = WallCheck(self.start_ns, self.end_ns)
        for chunk in self.read_chunks():
            yield check.kept(chunk)
        words = check.damage()
        if words not in self.damage:
            self.damage = ", ".join(filter(None, (self.damage, words)))


def checked_period(start_ns: int, end_ns: int) -> None:
    """Raises ValueError for a period that cannot be."""
    if not 0 <= start_ns <= end_ns <= _MAX_NS:
        raise ValueError("it ends before it starts")


def checked_cpus(cpus: Iterable[Any]) -> tuple[int, ...]:
    """The watched CPUs. Raises ValueError and TypeError for what is none."""
    numbers = tuple(map(int, cpus))
    if any(not 0 <= cpu <= _MAX_CPU for cpu in numbers):
        raise ValueError("it watched CPUs that cannot be")
    return numbers
