"""Diagnoses kept for later, and what changed since: which findings went, stayed and came.

Interruptions are counted in two periods, so their rates are compared as those of two Poisson
processes: given the sum, the count of one is binomial (Przyborowski and Wilenski, 1940). A count
of interruptions that come in bursts varies more than that, so a small probability then says that
the load was another one, not that the remedy did it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from noisetop.diagnosis import Diagnosis
from noisetop.errors import UsageError

FORMAT = "noisetop-diagnosis"
_VERSION = 1
_LARGEST_FILE = 64 << 20
_SIGNIFICANT = 0.01
_STAYED = 0.1
"""Change of cost below which a finding is as it was."""


class Fate(StrEnum):
    """What became of a finding."""

    GONE = "gone"
    LESS = "less"
    STAYED = "stayed"
    MORE = "more"
    NEW = "new"


@dataclass(frozen=True, slots=True)
class Measured:
    """A finding as it is kept."""

    key: str
    cause: str
    count: int
    net_ns: int
    wait_ns: int = 0

    @property
    def cost_ns(self) -> int:
        """As findings are ranked."""
        return max(self.net_ns, self.wait_ns)


@dataclass(frozen=True, slots=True)
class Saved:
    """A diagnosis as it is kept."""

    duration_ns: int
    cpus: tuple[int, ...]
    noise_ns: int
    findings: tuple[Measured, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """One finding before and after."""

    key: str
    cause: str
    verdict: Fate
    before_count: int
    after_count: int
    before_rate_ns: float
    """Cost in ns per second."""
    after_rate_ns: float
    probability: float
    """Of counts at least as different when nothing had changed."""

    @property
    def ratio_words(self) -> str:
        """After over before."""
        if not self.before_rate_ns:
            return "was not there"
        return f"{self.after_rate_ns / self.before_rate_ns:.2f} times"

    @property
    def significance(self) -> str:
        """Whether the counts differ by more than chance."""
        if self.probability < _SIGNIFICANT:
            return f"counts differ, p {self.probability:.1g}"
        return f"counts may differ by chance, p {self.probability:.2f}"

    def as_dict(self) -> dict[str, object]:
        """For JSON."""
        ratio = self.after_rate_ns / self.before_rate_ns if self.before_rate_ns else None
        return {**asdict(self), "ratio": ratio}


def as_saved(diagnosis: Diagnosis, version: str) -> dict[str, object]:
    """What is needed to compare with it later, as JSON values."""
    evidence = diagnosis.evidence
    return {
        "format": FORMAT,
        "format_version": _VERSION,
        "noisetop": version,
        "duration_ns": evidence.duration_ns,
        "cpus": list(evidence.cpus),
        "noise_ns": evidence.noise_ns,
        "findings": [asdict(one) for one in measured(diagnosis)],
    }


def measured(diagnosis: Diagnosis) -> tuple[Measured, ...]:
    """The findings as they are kept."""
    return tuple(
        Measured(
            finding.key,
            finding.cause,
            finding.count or finding.wait_count,
            finding.net_ns,
            finding.wait_ns,
        )
        for finding in diagnosis.findings
    )


def summary_of(diagnosis: Diagnosis) -> Saved:
    """A diagnosis as if it had been kept."""
    evidence = diagnosis.evidence
    return Saved(evidence.duration_ns, evidence.cpus, evidence.noise_ns, measured(diagnosis))


def load(path: Path) -> Saved:
    """A diagnosis that --save or --json wrote. Raises UsageError."""
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST_FILE + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "no file name"
        raise UsageError(f"cannot read {str(path)!r}: {reason}; write one with --save") from None
    try:
        if len(content) > _LARGEST_FILE:
            raise ValueError("too large")
        return _parsed(json.loads(content))
    except (ValueError, TypeError, KeyError, RecursionError, OverflowError):
        raise UsageError(f"{path} is no saved diagnosis: write one with --save") from None


def _parsed(document: Any) -> Saved:
    if not isinstance(document, dict) or document["format"] != FORMAT:
        raise ValueError("another format")
    if document["format_version"] != _VERSION:
        raise ValueError("another version")
    duration_ns = _number(document["duration_ns"])
    if not duration_ns:
        raise ValueError("no duration")
    return Saved(
        duration_ns,
        tuple(_number(cpu) for cpu in document["cpus"]),
        _number(document["noise_ns"]),
        tuple(_measured(one) for one in document["findings"]),
    )


def _measured(one: Mapping[str, Any]) -> Measured:
    return Measured(
        str(one["key"]),
        str(one["cause"]),
        _number(one["count"]),
        _number(one["net_ns"]),
        _number(one["wait_ns"]),
    )


def _number(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 1 << 63:
        raise ValueError("not a number")
    return value


def compare(before: Saved, after: Saved) -> tuple[Change, ...]:
    """What became of each finding; the largest change of cost first."""
    old, new = _by_key(before.findings), _by_key(after.findings)
    changes = [
        _change(key, old.get(key), new.get(key), before.duration_ns, after.duration_ns)
        for key in dict.fromkeys([*old, *new])
    ]
    return tuple(sorted(changes, key=lambda c: (-abs(c.after_rate_ns - c.before_rate_ns), c.key)))


def _by_key(findings: Iterable[Measured]) -> dict[str, Measured]:
    return {finding.key: finding for finding in findings}


def _change(
    key: str, old: Measured | None, new: Measured | None, old_ns: int, new_ns: int
) -> Change:
    before_rate_ns = old.cost_ns * 1e9 / old_ns if old else 0.0
    after_rate_ns = new.cost_ns * 1e9 / new_ns if new else 0.0
    counts = (old.count if old else 0, new.count if new else 0)
    known = new or old
    return Change(
        key=key,
        cause=known.cause if known else "",
        verdict=_fate(old, new, before_rate_ns, after_rate_ns),
        before_count=counts[0],
        after_count=counts[1],
        before_rate_ns=before_rate_ns,
        after_rate_ns=after_rate_ns,
        probability=rate_probability(*counts, old_ns, new_ns),
    )


def _fate(old: Measured | None, new: Measured | None, before: float, after: float) -> Fate:
    if old is None or new is None:
        return Fate.NEW if old is None else Fate.GONE
    if abs(after - before) <= _STAYED * before:
        return Fate.STAYED
    return Fate.LESS if after < before else Fate.MORE


def rate_probability(before: int, after: int, before_ns: int, after_ns: int) -> float:
    """Two-sided probability of two counts at least as unequal if both had the same rate.

    Exact up to 1000 events, above that by the normal approximation with continuity correction.
    """
    total = before + after
    if not total:
        return 1.0
    share = before_ns / (before_ns + after_ns)
    if total > 1000:
        sigma = math.sqrt(total * share * (1 - share))
        distance = max(abs(before - total * share) - 0.5, 0) / sigma
        return math.erfc(distance / math.sqrt(2))
    return min(1.0, 2 * min(_tail(0, before, total, share), _tail(before, total, total, share)))


def _tail(first: int, last: int, total: int, share: float) -> float:
    """Probability of ``first`` to ``last`` successes of a binomial."""
    return sum(
        math.exp(
            math.lgamma(total + 1)
            - math.lgamma(k + 1)
            - math.lgamma(total - k + 1)
            + k * math.log(share)
            + (total - k) * math.log1p(-share)
        )
        for k in range(first, last + 1)
    )
