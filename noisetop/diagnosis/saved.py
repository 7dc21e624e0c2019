"""Saved diagnoses, and what changed since: resolved, remaining and new findings.

The noise of a finding is compared block of time by block of time, with the tests of ``noisetop
compare``. Waits are known as sums only: how often there was one is compared as two Poisson
processes are, where given the sum the count of one is binomial (Przyborowski and Wilenski, 1940).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np

from noisetop.checked_json import parse_json, unsealed
from noisetop.compare.comparison import ALPHA, MIN_BLOCKS_SEEN
from noisetop.compare.sample import BLOCKS, MIN_BLOCKS
from noisetop.compare.statistics import PERMUTATIONS, Table, holm, permutation_p
from noisetop.diagnosis import Diagnosis
from noisetop.errors import UsageError
from noisetop.input import open_input, read_up_to
from noisetop.text.sanitize import printable

FORMAT = "noisetop-diagnosis"
_VERSION = 3
_WITHOUT_CHECKSUM = 2
"""Version of which some files have none."""
_LARGEST_FILE = 64 << 20
_STAYED = 0.1
"""Change of cost below which a finding is as it was."""


class Fate(StrEnum):
    """What became of a finding."""

    GONE = "gone"
    LESS = "less"
    STAYED = "stayed"
    MORE = "more"
    NEW = "new"

    @property
    def word(self) -> str:
        """What the page calls it; the value is what JSON has."""
        return {Fate.GONE: "resolved", Fate.STAYED: "remaining"}.get(self, self.value)


@dataclass(frozen=True, slots=True)
class Measured:
    """A finding as it is kept."""

    key: str
    cause: str
    count: int
    net_ns: int
    wait_ns: int = 0
    wait_count: int = 0
    blocks_ns: tuple[int, ...] = ()
    """Noise of equal blocks of the period."""

    @property
    def waits(self) -> bool:
        """Whether it is its waits that cost."""
        return self.wait_ns > self.net_ns

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
    probability: float | None
    """Of a difference as large if nothing had changed, adjusted for all findings; None: the finding
    is too rare to test."""

    @property
    def ratio_words(self) -> str:
        """After over before."""
        if not self.before_rate_ns:
            return "new"
        return f"{self.after_rate_ns / self.before_rate_ns:.2f} times"

    @property
    def significant(self) -> bool:
        """Whether the change is significant."""
        return self.probability is not None and self.probability <= ALPHA

    @property
    def significance(self) -> str:
        """The same in words."""
        if self.probability is None:
            return "too rare to test"
        if self.significant:
            return f"significant, p {_probability(self.probability)}"
        return f"not significant, p {self.probability:.2f}"

    def as_dict(self) -> dict[str, object]:
        """For JSON."""
        ratio = self.after_rate_ns / self.before_rate_ns if self.before_rate_ns else None
        return {**asdict(self), "ratio": ratio, "significant": self.significant}


def as_saved(diagnosis: Diagnosis, version: str) -> dict[str, object]:
    """What is needed to compare with it later, as JSON values without a checksum."""
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
            finding.count,
            finding.net_ns,
            finding.wait_ns,
            finding.wait_count,
            finding.blocks_ns,
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
        with open_input(path, "a saved diagnosis") as file:
            content = read_up_to(file, _LARGEST_FILE)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "no file name"
        raise UsageError(f"cannot read {str(path)!r}: {reason}; write one with --save") from None
    try:
        if len(content) > _LARGEST_FILE:
            raise ValueError("too large")
        return _parsed(parse_json(content))
    except (ValueError, TypeError, KeyError) as error:
        reason = printable(str(error))
        raise UsageError(
            f"{path} is no saved diagnosis ({reason}): write one with --save"
        ) from None


def _parsed(document: Any) -> Saved:
    if not isinstance(document, dict) or document["format"] != FORMAT:
        raise ValueError("another format")
    form = document["format_version"]
    if form not in (_VERSION, _WITHOUT_CHECKSUM):
        raise ValueError("another version")
    document = unsealed(document, required=form != _WITHOUT_CHECKSUM)
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
        _number(one["wait_count"]),
        _blocks(one["blocks_ns"]),
    )


def _blocks(values: Any) -> tuple[int, ...]:
    if not isinstance(values, list) or len(values) not in (0, BLOCKS):
        raise ValueError("not so many blocks")
    return tuple(_number(value) for value in values)


def _number(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 1 << 63:
        raise ValueError("not a number")
    return value


def compare(before: Saved, after: Saved) -> tuple[Change, ...]:
    """What became of each finding; the largest change of cost first."""
    old, new = _by_key(before.findings), _by_key(after.findings)
    keys = tuple(dict.fromkeys([*old, *new]))
    pairs = [(old.get(key), new.get(key)) for key in keys]
    p_values = _probabilities(pairs, before.duration_ns, after.duration_ns)
    changes = [
        _change(key, *pair, before.duration_ns, after.duration_ns, p)
        for key, pair, p in zip(keys, pairs, p_values, strict=True)
    ]
    return tuple(sorted(changes, key=lambda c: (-abs(c.after_rate_ns - c.before_rate_ns), c.key)))


def _by_key(findings: Iterable[Measured]) -> dict[str, Measured]:
    return {finding.key: finding for finding in findings}


Pair = tuple[Measured | None, Measured | None]


def _probabilities(pairs: Sequence[Pair], old_ns: int, new_ns: int) -> list[float | None]:
    """The p-value of each pair, before and after, adjusted for their number; None: not tested."""
    old_rates = _rates([_blocks_of(old) for old, _ in pairs], old_ns, new_ns)
    new_rates = _rates([_blocks_of(new) for _, new in pairs], new_ns, old_ns)
    seen = (old_rates > 0).sum(axis=0) + (new_rates > 0).sum(axis=0)
    waits = np.array([any(one is not None and one.waits for one in pair) for pair in pairs])
    by_blocks = (
        (seen >= MIN_BLOCKS_SEEN) & ~waits & (min(len(old_rates), len(new_rates)) >= MIN_BLOCKS)
    )
    raw = np.ones(len(pairs))
    if by_blocks.any():
        count = max(PERMUTATIONS, round(2 * len(pairs) / ALPHA))
        raw[by_blocks] = permutation_p(old_rates[:, by_blocks], new_rates[:, by_blocks], count)
    for at in np.flatnonzero(waits).tolist():
        old, new = (one.wait_count if one else 0 for one in pairs[at])
        raw[at] = rate_probability(old, new, old_ns, new_ns)
    tested = by_blocks | waits
    raw[tested] = holm(raw[tested])
    return [
        float(p) if was_tested else None for p, was_tested in zip(raw, tested.tolist(), strict=True)
    ]


def _blocks_of(one: Measured | None) -> tuple[int, ...]:
    return one.blocks_ns if one and one.blocks_ns else (0,) * BLOCKS


def _rates(findings: Sequence[tuple[int, ...]], mine_ns: int, other_ns: int) -> Table:
    """Noise per ns of blocks of about the same length on both sides: a row each, a column for each
    finding. What is left over at the end of the shorter recording is dropped."""
    together = min(max(round(other_ns / mine_ns), 1), BLOCKS)
    table = np.array(findings, np.float64).reshape(len(findings), BLOCKS).T
    whole = BLOCKS // together * together
    merged = table[:whole].reshape(-1, together, len(findings)).sum(axis=1)
    rates: Table = merged * BLOCKS / (mine_ns * together)
    return rates


def _change(
    key: str,
    old: Measured | None,
    new: Measured | None,
    old_ns: int,
    new_ns: int,
    probability: float | None,
) -> Change:
    before_rate_ns = old.cost_ns * 1e9 / old_ns if old else 0.0
    after_rate_ns = new.cost_ns * 1e9 / new_ns if new else 0.0
    known = new or old
    return Change(
        key=key,
        cause=known.cause if known else "",
        verdict=_fate(old, new, before_rate_ns, after_rate_ns),
        before_count=old.count if old else 0,
        after_count=new.count if new else 0,
        before_rate_ns=before_rate_ns,
        after_rate_ns=after_rate_ns,
        probability=probability,
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


def _probability(value: float) -> str:
    """A permutation test has no smaller probabilities to tell apart."""
    return "< 0.001" if value < 0.001 else f"{value:.3f}"
