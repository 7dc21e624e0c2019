"""From observed noise to cause and remedy: rules, one module per subject.

A new rule is a row ``cause(...)`` or a function with the decorator ``rule`` in a module of this
package. Rules are asked from the narrowest to the widest, and each sees only what none before it
has claimed; so every nanosecond is explained once or not at all.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property

from noisetop.diagnosis.evidence import Evidence, Share, without_victims
from noisetop.diagnosis.finding import CannotTell, Finding, Outcome, Rule
from noisetop.events.origin import Origin
from noisetop.summary.cpu_victim import CONTENTION

__all__ = ["Diagnosis", "Evidence", "Finding", "Rule", "all_rules", "diagnose"]


@dataclass(frozen=True)
class Diagnosis:
    """Findings, what is left, and the turns of the victims themselves. Adds up to the noise of the
    evidence and the waits that were not noise of anything."""

    evidence: Evidence
    findings: tuple[Finding, ...]
    """By the cost of what is not self-inflicted; what mostly is comes last."""
    unexplained: tuple[Share, ...]
    unsure: tuple[tuple[Rule, CannotTell], ...]
    """Rules that lacked something."""
    turns: tuple[Share, ...] = ()
    """The victims of CPUs ran while other tasks waited: nobody's fault, and in no other figure."""

    @property
    def explained_ns(self) -> int:
        """Noise that findings claim, or the waits for it where these are longer."""
        return sum(finding.explained_ns for finding in self.findings)

    @property
    def unexplained_ns(self) -> int:
        """Noise that no rule claims; what no event accounts for is among that."""
        return sum(share.net_ns for share in self.unexplained)

    @property
    def estimated(self) -> bool:
        """Whether entry costs are in what was lost."""
        return any(share.entry for share in self.evidence.shares)

    @property
    def own_ns(self) -> int:
        """What the victims lost by what they do themselves; an estimate where that is known."""
        left = [share for share in self.unexplained if share.origin is Origin.SELF]
        claimed_ns = sum(finding.own_ns for finding in self.findings if not finding.own_wait)
        return claimed_ns + sum(share.rank_ns for share in left)

    @cached_property
    def lost_ns(self) -> int:
        """All that the victims lost, as own_ns. Each finding is told as a share of it."""
        claimed_ns = sum(finding.counted_ns for finding in self.findings)
        return claimed_ns + sum(share.rank_ns for share in self.unexplained)

    @property
    def external_ns(self) -> int:
        """What they lost by others, as own_ns."""
        return self.lost_ns - self.own_ns

    @property
    def contention_ns(self) -> int:
        """That part of external_ns which tasks took from each other on CPUs that nobody claims."""
        return sum(one.counted_ns for one in self.findings if one.rule == CONTENTION)


@cache
def all_rules() -> tuple[Rule, ...]:
    """Every rule of this package, in the order in which they are asked."""
    found: dict[str, Rule] = {}
    for module in pkgutil.iter_modules(__path__, f"{__name__}."):
        for value in vars(importlib.import_module(module.name)).values():
            rules = value if isinstance(value, tuple) else (value,)
            found.update({one.name: one for one in rules if isinstance(one, Rule)})
    return tuple(sorted(found.values(), key=lambda rule: (rule.rank, rule.name)))


def diagnose(evidence: Evidence, rules: Iterable[Rule] | None = None) -> Diagnosis:
    """Asks the rules (default: all)."""
    left, turns = without_victims(evidence)
    findings: list[Finding] = []
    unsure: list[tuple[Rule, CannotTell]] = []
    offered = replace(evidence, shares=left)
    for rule in all_rules() if rules is None else rules:
        outcome = rule.judge(offered)
        if isinstance(outcome, CannotTell):
            unsure.append((rule, outcome))
            continue
        said = _findings(outcome)
        if said:
            left = _without(left, said, rule)
            offered = replace(evidence, shares=left)
            findings += said
    findings.sort(key=_rank)
    return Diagnosis(evidence, tuple(findings), left, tuple(unsure), turns)


def _rank(finding: Finding) -> tuple[bool, int, int, str]:
    """What the victims do themselves comes last."""
    return finding.is_own, -finding.external_ns, -finding.cost_ns, finding.key


def _findings(outcome: Outcome) -> tuple[Finding, ...]:
    if outcome is None or isinstance(outcome, CannotTell):
        return ()
    return (outcome,) if isinstance(outcome, Finding) else tuple(outcome)


def _without(left: tuple[Share, ...], findings: Sequence[Finding], rule: Rule) -> tuple[Share, ...]:
    """What is left when the findings have taken theirs."""
    offered = {id(share) for share in left}
    claimed: set[int] = set()
    for finding in findings:
        for share in finding.shares:
            if id(share) not in offered or id(share) in claimed:
                raise ValueError(f"rule {rule.name} claims what is not its own")
            claimed.add(id(share))
    return tuple(share for share in left if id(share) not in claimed)
