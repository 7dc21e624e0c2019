"""How rules are written: a row of a table where source and trigger say it all, else a function."""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from noisetop.diagnosis.advice import Act, Situation, write_back
from noisetop.diagnosis.culprits import culprits
from noisetop.diagnosis.evidence import Evidence, Path, Share
from noisetop.diagnosis.facts import facts
from noisetop.diagnosis.finding import Confidence, Finding, Outcome, Rule
from noisetop.diagnosis.program_advice import MOVED_BACK
from noisetop.events.origin import Origin

Pattern = tuple[str, ...]
"""First steps of a source path, with wildcards as in fnmatch."""
Subject = Callable[[Share], str]
"""Which of several findings of a rule a share belongs to."""

_WILDCARD = re.compile(r"[*?\[]")
_SUFFIX = re.compile(r"\.(isra|constprop|cold|part|llvm)\.[\w.]*$|\.cold$")


# Every rule looks at every share: names come again far more often than there are names. Under ever
# new names this is 4 MiB.
@functools.lru_cache(maxsize=1 << 14)
def _is_like(pattern: str, name: str) -> bool:
    own = _SUFFIX.sub("", name)
    return fnmatchcase(own, pattern) if _WILDCARD.search(pattern) else own == pattern


def matches(pattern: Pattern, path: Path) -> bool:
    """Whether a path begins like the pattern. What compilers add to a name does not count."""
    return len(pattern) <= len(path) and all(map(_is_like, pattern, path))


def matches_exactly(pattern: Pattern, path: Path) -> bool:
    """The same, with nothing after it."""
    return len(pattern) == len(path) and matches(pattern, path)


@dataclass(frozen=True, slots=True)
class Match:
    """Which shares a row claims."""

    paths: tuple[Pattern, ...]
    sender: tuple[str, ...] = ()
    """One of these is the triggering task, its work function or what its CPU was serving."""
    stack: tuple[str, ...] = ()
    """One of these functions is in the trigger's kernel stack."""
    origin: tuple[Origin, ...] = ()
    """It was the doing of one of these."""
    whole: bool = False
    """The path ends where the pattern does."""

    def claimed(self, shares: Iterable[Share]) -> list[Share]:
        """Those of the shares that the row claims."""
        first = {pattern[0] for pattern in self.paths}
        like: dict[Path, bool] = {}  # paths come again for each CPU and trigger
        found = []
        for share in shares:
            path = share.cause
            if path[0] not in first:  # a class has no wildcard, and most rules are about one
                continue
            if path not in like:
                like[path] = self._like(path)
            if like[path] and not share.poses and self._sent(share) and self._whose(share):
                found.append(share)
        return found

    def _whose(self, share: Share) -> bool:
        return not self.origin or share.origin in self.origin

    def _like(self, path: Path) -> bool:
        same = matches_exactly if self.whole else matches
        return any(same(pattern, path) for pattern in self.paths)

    def _sent(self, share: Share) -> bool:
        who = share.trigger
        names = ("" if share.sender_poses else who.task, who.work, who.context)
        return (
            not self.sender or any(_any_like(self.sender, name) for name in names if name)
        ) and (not self.stack or any(_any_like(self.stack, name) for name in share.stack))

    @property
    def rank(self) -> tuple[int, ...]:
        """Narrow ones first: by who sent it, then by how much of a path is given."""
        named = -bool(self.stack) - bool(self.sender) - bool(self.origin)
        return (named, -max(sum(_literal(step) for step in pattern) for pattern in self.paths))

    @property
    def words(self) -> str:
        """For the list of all causes."""
        shown = ", ".join(" › ".join(pattern) for pattern in self.paths)
        if self.sender:
            shown += "; sent by " + ", ".join(self.sender)
        if self.stack:
            shown += "; sender's kernel stack has " + ", ".join(self.stack)
        if self.origin:
            shown += "; origin " + ", ".join(one.label for one in self.origin)
        return shown


def _any_like(patterns: Iterable[str], name: str) -> bool:
    return any(_is_like(pattern, name) for pattern in patterns)


def _literal(step: str) -> int:
    return len(step.replace("*", ""))


def by_sender(share: Share) -> str:
    """One finding for each task that causes it, behind a worker thread for who queued the work;
    the same in another run, so without its number."""
    who = share.trigger
    name, _, number = who.origin.rpartition(" ")
    return name if number.isdecimal() and name else who.work or who.task


def by_step(number: int) -> Subject:
    """One finding for each value of a step of the path, -1 being the last."""

    def subject(share: Share) -> str:
        return share.cause[min(number, len(share.cause) - 1)]

    return subject


def by_function(share: Share) -> str:
    """One finding for each function that ran inside something else."""
    return share.cause[-1] if len(share.cause) > 2 else ""


@dataclass(frozen=True, slots=True)
class Texts:
    """What a row says, with names in braces, see facts()."""

    cause: str
    remedy: str
    undo: str
    confirm: str
    effect: str
    reboot: bool
    confidence: Confidence
    otherwise: str
    fallback: str
    """The cause where the subject is not known."""
    act: Act
    """Makes the remedy where the machine can be read."""


def grouped(
    rule: str, shares: Iterable[Share], evidence: Evidence, subject: Subject | None, texts: Texts
) -> list[Finding]:
    """Findings of a rule over the shares that it claims, one for each subject."""
    groups: dict[str, list[Share]] = {}
    for share in shares:
        groups.setdefault(subject(share) if subject else "", []).append(share)
    return [finding_of(rule, about, mine, evidence, texts) for about, mine in groups.items()]


def finding_of(
    rule: str,
    about: str,
    shares: Sequence[Share],
    evidence: Evidence,
    texts: Texts,
    names: Sequence[str] = (),
) -> Finding:
    """One finding, perhaps over no noise at all; ``names``: what its texts are about, where that
    is more than one."""
    who = culprits(shares, evidence)
    told = tuple(dict.fromkeys(culprit.told for culprit in who)) if names else (about,)
    known = facts(evidence, shares, names or (about,) * bool(about), told)
    words = texts.cause if about or not texts.fallback else texts.fallback
    general = Finding(
        rule=rule,
        about=about,
        cause=words.format_map(known),
        shares=tuple(shares),
        remedy=texts.remedy.format_map(known),
        undo=texts.undo.format_map(known),
        reboot=texts.reboot,
        effect=texts.effect.format_map(known),
        confidence=texts.confidence,
        confirm=texts.confirm.format_map(known),
        otherwise=texts.otherwise.format_map(known),
        culprits=who,
    )
    return _advised(general, evidence, texts.act, known)


def _advised(finding: Finding, evidence: Evidence, act: Act, known: Mapping[str, str]) -> Finding:
    """The finding with the remedy for the machine as it is now, where that can be read."""
    machine = evidence.machine
    if machine is None:
        return finding
    advice = act(
        Situation(
            machine=machine,
            evidence=evidence,
            shares=finding.shares,
            about=finding.about,
            keep=known["keep"],
            isolate=known["cpus"],
            remedy=finding.remedy,
            otherwise=finding.otherwise,
            culprits=finding.culprits,
        )
    )
    if advice is None:
        return finding
    made = advice.remedy
    return replace(
        finding,
        remedy=made.command,
        undo=made.undo,
        reboot=made.reboot,
        shell=made.shell,
        readings=advice.readings,
        otherwise=finding.otherwise if advice.otherwise is None else advice.otherwise,
    )


MOVE = "for t in $(pgrep -wx {q}); do taskset -pc {keep} $t; done"
MOVE_BACK = MOVED_BACK
ISOLATE = "isolcpus=domain,{cpus} on the kernel command line, or a cpuset of its own"
NOTHING_TO_UNDO = "start it again"


def cause(
    name: str,
    words: str,
    *paths: Pattern,
    remedy: str,
    confirm: str,
    source: str,
    undo: str = NOTHING_TO_UNDO,
    sender: tuple[str, ...] = (),
    stack: tuple[str, ...] = (),
    origin: tuple[Origin, ...] = (),
    whole: bool = False,
    subject: Subject | None = None,
    reboot: bool = False,
    effect: str = "",
    confidence: Confidence = Confidence.CERTAIN,
    otherwise: str = "",
    fallback: str = "",
    act: Act = write_back,
) -> Rule:
    """A rule that claims all noise with these sources and triggers."""
    match = Match(paths, sender, stack, origin, whole)
    texts = Texts(
        words, remedy, undo, confirm, effect, reboot, confidence, otherwise, fallback, act
    )

    def judge(evidence: Evidence) -> Outcome:
        return grouped(name, match.claimed(evidence.shares), evidence, subject, texts)

    where = _module_of_caller()
    return _rule(name, where, texts, judge, seen_as=match.words, source=source, rank=match.rank)


def _rule(
    name: str,
    subject: str,
    texts: Texts,
    judge: Callable[[Evidence], Outcome],
    *,
    seen_as: str,
    source: str,
    rank: tuple[int, ...],
) -> Rule:
    return Rule(
        name=name,
        subject=subject,
        cause=texts.cause,
        seen_as=seen_as,
        remedy=texts.remedy,
        undo=texts.undo,
        confirm=texts.confirm,
        source=source,
        judge=judge,
        rank=rank,
        reboot=texts.reboot,
        effect=texts.effect,
        otherwise=texts.otherwise,
        confidence=texts.confidence,
    )


def _module_of_caller() -> str:
    # sys._getframe is what dataclasses and typing use for this as well.
    module: str = sys._getframe(2).f_globals["__name__"]
    return module.rpartition(".")[2]


FIRST: tuple[int, ...] = (-9,)
"""Rank of a rule that must see everything."""
LAST: tuple[int, ...] = (9,)
"""Rank of a rule that takes what no other one has claimed."""


def rule(
    name: str,
    words: str,
    *,
    seen_as: str,
    remedy: str,
    undo: str,
    confirm: str,
    source: str,
    rank: tuple[int, ...] = FIRST,
    reboot: bool = False,
    effect: str = "",
    confidence: Confidence = Confidence.LIKELY,
    otherwise: str = "",
    act: Act = write_back,
) -> Callable[[Callable[[Evidence, Texts], Outcome]], Rule]:
    """Turns a function of the evidence and the rule's texts into a Rule; its module is the
    subject."""
    texts = Texts(words, remedy, undo, confirm, effect, reboot, confidence, otherwise, "", act)

    def make(judge: Callable[[Evidence, Texts], Outcome]) -> Rule:
        return _rule(
            name,
            judge.__module__.rpartition(".")[2],
            texts,
            lambda evidence: judge(evidence, texts),
            seen_as=seen_as,
            source=source,
            rank=rank,
        )

    return make


def waiting(finding: Finding, wait_ns: int, wait_count: int) -> Finding:
    """The finding with what victims waited because of it."""
    return replace(finding, wait_ns=wait_ns, wait_count=wait_count)


def hrtimers(*functions: str) -> tuple[Pattern, ...]:
    """Functions of precise timers, wherever they expire."""
    return tuple(
        pattern
        for function in functions
        for pattern in (
            ("timer", "*", function),
            ("softirq", "HRTIMER", function),
            ("thread", "*", "HRTIMER", function),
        )
    )


def timers(*functions: str) -> tuple[Pattern, ...]:
    """Functions of ordinary kernel timers, in the softirq or in a thread."""
    return tuple(
        pattern
        for function in functions
        for pattern in (("softirq", "TIMER", function), ("thread", "*", "TIMER", function))
    )


def calls(*functions: str) -> tuple[Pattern, ...]:
    """Functions that another CPU has this one run."""
    return tuple(("ipi", "*", function) for function in functions)


def works(*functions: str) -> tuple[Pattern, ...]:
    """Functions of work items, in whatever worker thread."""
    return tuple(("thread", "kworker/*", function) for function in functions)


def softirqs(vector: str) -> tuple[Pattern, ...]:
    """A softirq, also where a thread runs it."""
    return (("softirq", vector), ("thread", "*", vector))
