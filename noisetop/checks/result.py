"""What a check says, verdict with evidence and remedy, and what is known about it beforehand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from noisetop.checks.audited import AuditedMachine
from noisetop.checks.status import Goal, Status
from noisetop.machine.reading import Reading

SourcePattern = tuple[str, ...]
"""First steps of source paths, with wildcards as in fnmatch: ``("thread", "rcuo*")``."""


@dataclass(frozen=True, slots=True)
class Remedy:
    """What to type, and what to type to be where one was before."""

    command: str
    undo: str
    reboot: bool = False
    shell: bool = True
    """False when ``command`` is an instruction in words, for instance about the boot loader."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one check found on one machine."""

    status: Status
    cause: str
    """One plain sentence: what is the case, in the terms of the kernel's documentation."""
    readings: tuple[Reading, ...] = ()
    remedy: Remedy | None = None
    caveat: str = ""
    """Replaces the check's own caveat when not empty."""
    cpus: tuple[int, ...] = ()
    """CPUs that are concerned; empty when it is the whole machine or a program."""
    explains: tuple[SourcePattern, ...] = ()
    """Narrower than the check's own list, when the culprit is known by name."""


def passed(cause: str, *readings: Reading, caveat: str = "") -> Verdict:
    """Nothing to do."""
    return Verdict(Status.PASS, cause, readings, caveat=caveat)


def skipped(reason: str, *readings: Reading) -> Verdict:
    """It is inconclusive, or does not apply here."""
    return Verdict(Status.SKIP, reason, readings)


@dataclass(frozen=True, slots=True)
class Check:
    """One question about a machine. ``id`` never changes and is never used again."""

    id: str
    name: str
    subject: str
    question: str
    reads: tuple[str, ...]
    expected: str
    why: str
    fix: str
    """The remedy in general; a verdict has the one for this machine."""
    judge: Callable[[AuditedMachine], Verdict]
    caveat: str = ""
    explains: tuple[SourcePattern, ...] = ()
    goals: frozenset[Goal] = frozenset(Goal)
    rank: int = 100
    """Place among results of the same status; what matters most is lowest."""
    needs_spare_cpu: bool = False
    """Asks whether something stays off the watched CPUs, so there must be others."""
    sources: str = ""
    """Guides and kernel documents that ask for it."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """A check with its verdict."""

    check: Check
    verdict: Verdict

    @property
    def id(self) -> str:
        """Of the check."""
        return self.check.id

    @property
    def status(self) -> Status:
        """Of the verdict."""
        return self.verdict.status

    @property
    def caveat(self) -> str:
        """What to know before acting on it."""
        return self.verdict.caveat or self.check.caveat

    @property
    def explains(self) -> tuple[SourcePattern, ...]:
        """Sources of noise that this result can be the cause of."""
        return self.verdict.explains or self.check.explains

    def explains_source(self, path: tuple[str, ...]) -> bool:
        """Whether a source path (class first) begins like one of ``explains``."""
        return any(
            len(pattern) <= len(path) and all(map(fnmatchcase, path, pattern))
            for pattern in self.explains
        )


_NOT_GIVEN: tuple[str, ...] = ()


def check(
    check_id: str,
    name: str,
    *,
    question: str,
    expected: str,
    why: str,
    fix: str,
    reads: tuple[str, ...] = _NOT_GIVEN,
    caveat: str = "",
    explains: tuple[SourcePattern, ...] = (),
    goals: frozenset[Goal] = frozenset(Goal),
    rank: int = 100,
    needs_spare_cpu: bool = False,
    sources: str = "",
) -> Callable[[Callable[[AuditedMachine], Verdict]], Check]:
    """Turns a function that judges a machine into a Check; its module is the subject."""

    def make(judge: Callable[[AuditedMachine], Verdict]) -> Check:
        return Check(
            id=check_id,
            name=name,
            subject=judge.__module__.rpartition(".")[2],
            question=question,
            reads=reads,
            expected=expected,
            why=why,
            fix=fix,
            judge=judge,
            caveat=caveat,
            explains=explains,
            goals=goals,
            rank=rank,
            needs_spare_cpu=needs_spare_cpu,
            sources=sources,
        )

    return make
