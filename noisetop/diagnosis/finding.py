"""A finding, and what a rule is: evidence in, findings out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum

from noisetop.diagnosis.culprits import Culprit
from noisetop.diagnosis.evidence import Evidence, Path, Share
from noisetop.events.origin import Origin
from noisetop.events.trigger import CLOCKS, Trigger
from noisetop.machine.reading import Reading


class Confidence(StrEnum):
    """How sure it is that the cause is the one named."""

    CERTAIN = "certain"
    LIKELY = "likely"
    POSSIBLE = "possible"

    @property
    def word(self) -> str:
        """What the page calls it; the value is what JSON has."""
        words = {Confidence.CERTAIN: "high", Confidence.LIKELY: "medium"}
        return words.get(self, "low")


@dataclass(frozen=True, slots=True)
class Sender:
    """Noise of a finding by who caused it."""

    trigger: Trigger
    count: int
    net_ns: int


@dataclass(frozen=True, slots=True)
class Finding:
    """One cause with what it cost and what to do. Texts may hold names from the kernel as they
    are: escape them where they are shown."""

    rule: str
    about: str
    """Which of several of its kind: a device, a program; empty: there is only one."""
    cause: str
    """One plain line, for somebody who knows nothing about the kernel."""
    shares: tuple[Share, ...]
    """The noise that it claims."""
    remedy: str
    undo: str
    reboot: bool
    effect: str
    confidence: Confidence
    confirm: str
    otherwise: str = ""
    """Another remedy."""
    shell: bool = False
    """Whether remedy and undo can be typed as they are: they name what this machine has."""
    readings: tuple[Reading, ...] = ()
    """What was read for the remedy."""
    wait_ns: int = 0
    """For how long victims were runnable and not running because of it."""
    wait_count: int = 0
    culprits: tuple[Culprit, ...] = ()
    """Who is behind it, largest cost first."""
    own_wait: bool = False
    """Whether that is self-inflicted: page faults."""

    @property
    def key(self) -> str:
        """The same for the same cause in another recording."""
        return f"{self.rule}:{self.about}" if self.about else self.rule

    @property
    def count(self) -> int:
        """Interruptions. What an interrupt ran inside counts with the interrupt, once."""
        return sum(share.count for share in self._outer())

    @property
    def net_ns(self) -> int:
        """Noise."""
        return sum(share.net_ns for share in self.shares)

    @property
    def explained_ns(self) -> int:
        """What it accounts for, without entry costs. Page faults stand beside all that."""
        return self.net_ns if self.own_wait else max(self.net_ns, self.wait_ns)

    @property
    def counted_ns(self) -> int:
        """The same with entry costs."""
        return 0 if self.own_wait else self.cost_ns

    @property
    def estimated(self) -> bool:
        """Whether entry costs are in its cost."""
        return any(share.entry for share in self.shares)

    @property
    def cost_ns(self) -> int:
        """What it costs: the estimate where there is a calibration, else the noise, or the wait
        where that is larger."""
        return max(self.lost_ns, self.wait_ns)

    @property
    def lost_ns(self) -> int:
        """That of its noise alone."""
        return sum(share.rank_ns for share in self.shares)

    @property
    def own_ns(self) -> int:
        """That of its cost that is self-inflicted."""
        own_ns = sum(share.rank_ns for share in self.shares if share.origin is Origin.SELF)
        return self.cost_ns if self.own_wait else own_ns

    @property
    def external_ns(self) -> int:
        """The rest: what findings are ranked by."""
        return self.cost_ns - self.own_ns

    @property
    def is_own(self) -> bool:
        """Whether most of it is self-inflicted."""
        return self.own_ns > self.external_ns

    @property
    def origins(self) -> tuple[Origin, ...]:
        """Whose doing it was, largest cost first."""
        totals: dict[Origin, int] = {}
        for share in self.shares:
            totals[share.origin] = totals.get(share.origin, 0) + share.rank_ns
        if self.own_wait:
            return (Origin.SELF,)
        return tuple(sorted(totals, key=lambda one: (-totals[one], one)))

    @property
    def blocks_ns(self) -> tuple[int, ...]:
        """The noise of equal blocks of the recording; empty where they are not known."""
        kept = [share.blocks_ns for share in self.shares if share.blocks_ns]
        return tuple(map(sum, zip(*kept, strict=True)))

    @property
    def worst(self) -> Share | None:
        """The share with the longest interruption."""
        return max(self.shares, key=lambda share: share.max_ns, default=None)

    @property
    def cpus(self) -> tuple[int, ...]:
        """Where it was measured."""
        return tuple(sorted({share.cpu for share in self.shares}))

    @property
    def paths(self) -> tuple[Path, ...]:
        """Its sources, largest first."""
        totals: dict[Path, int] = {}
        for share in self.shares:
            totals[share.cause] = totals.get(share.cause, 0) + share.net_ns
        return tuple(sorted(totals, key=lambda path: (-totals[path], path)))

    @property
    def period_ns(self) -> int:
        """Time between two, where its largest source is regular; else 0."""
        largest = max(self.shares, key=lambda share: share.net_ns, default=None)
        return largest.period_ns if largest else 0

    def _outer(self) -> Iterable[Share]:
        """Without what ran inside an interruption that is there as well."""
        inside = {(share.cpu, share.ran) for share in self.shares if share.ran}
        return [share for share in self.shares if (share.cpu, share.path) not in inside]

    def senders(self) -> tuple[Sender, ...]:
        """Who caused it, largest first; without what nobody is known for."""
        totals: dict[str, list[Sender]] = {}
        for share in self._outer():
            if share.trigger.label and share.trigger.context not in CLOCKS:
                one = Sender(share.trigger, share.count, share.net_ns)
                totals.setdefault(share.trigger.label, []).append(one)
        merged = [
            Sender(same[0].trigger, sum(s.count for s in same), sum(s.net_ns for s in same))
            for same in totals.values()
        ]
        return tuple(sorted(merged, key=lambda one: (-one.net_ns, one.trigger)))


@dataclass(frozen=True, slots=True)
class CannotTell:
    """Said by a rule that lacks something."""

    needs: str
    """``needs …``, with what to do about it."""


Outcome = Iterable[Finding] | Finding | CannotTell | None


@dataclass(frozen=True, slots=True)
class Rule:
    """One cause of noise that evidence can show. ``name`` never changes."""

    name: str
    subject: str
    cause: str
    seen_as: str
    """What it looks like in a recording."""
    remedy: str
    undo: str
    confirm: str
    source: str
    """Where the knowledge comes from."""
    judge: Callable[[Evidence], Outcome]
    rank: tuple[int, ...]
    """Which rule is asked first: the narrowest. Smaller is earlier."""
    reboot: bool = False
    effect: str = ""
    otherwise: str = ""
    confidence: Confidence = Confidence.CERTAIN
