"""A diagnosis as a page of text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from noisetop.checks import CheckResult
from noisetop.columns.victims import cpu_victim_words
from noisetop.counters.left_out import LEFT_OUT
from noisetop.diagnosis import Diagnosis
from noisetop.diagnosis.details import INDENT, details, rate, row, share, wrapped
from noisetop.diagnosis.evidence import Path, Share
from noisetop.diagnosis.saved import Change
from noisetop.diagnosis.table import table
from noisetop.events.interruption import UNATTRIBUTED, Source
from noisetop.events.origin import Origin
from noisetop.text.cpu_list import format_cpu_list
from noisetop.text.styled import heading
from noisetop.text.units import format_count, format_ns

DETAILED = 3
_LABEL = 12
_UNEXPLAINED = 10


def page_lines(
    diagnosis: Diagnosis,
    audit: Sequence[CheckResult] = (),
    *,
    title: str = "",
    width: int = 80,
    top: int = 20,
    verbose: bool = False,
    changes: Sequence[Change] | None = None,
) -> list[str]:
    """The page: a table of the findings by what they cost, details of the first of them and of the
    first that is self-inflicted, of all with ``verbose``, then what no rule explains, then the sum.
    """
    page = _head(diagnosis, title, width)
    if audit:
        page += wrapped("Checks show the present setup of this machine: noisetop check.", width)
    page.append("")
    if changes is not None:
        page += [*_changes(changes, width), ""]
    if not diagnosis.findings:
        page += ["No noise was measured, so there is nothing to explain.", ""]
        return [*page, *_rest(diagnosis, top, width), *_sum(diagnosis, width)]
    page += [*table(diagnosis, top, width), ""]
    listed = list(enumerate(diagnosis.findings[:top], 1))
    own = next((number for number, finding in listed if finding.is_own), 0)
    shown = [one for one in listed if verbose or one[0] <= DETAILED or one[0] == own]
    for number, finding in shown:
        page += [*details(number, finding, diagnosis, audit, width), ""]
    if len(shown) < len(listed):
        page += ["Details of all findings: noisetop diagnose -v", ""]
    return [*page, *_rest(diagnosis, top, width), *_sum(diagnosis, width)]


def _head(diagnosis: Diagnosis, title: str, width: int) -> list[str]:
    evidence = diagnosis.evidence
    where = f"CPU {format_cpu_list(evidence.cpus)}" if evidence.cpus else "no CPU"
    contention_ns = diagnosis.contention_ns
    contention = f"contention {_amount(contention_ns, diagnosis)}, " if contention_ns else ""
    words = [
        f"{f'{title}: ' if title else ''}{where}, {format_ns(evidence.duration_ns)}, {contention}"
        f"lost {_amount(diagnosis.external_ns - contention_ns, diagnosis)}, self-inflicted "
        f"{_amount(diagnosis.own_ns, diagnosis)}"
    ]
    if whose := cpu_victim_words(evidence.cpu_victims):
        words.append(f"{whose[0].upper()}{whose[1:]}")
    if evidence.incomplete:
        words.append(f"Incomplete: {evidence.incomplete}; the true figures are larger.")
    if left_out := LEFT_OUT.brief(evidence.left_out, evidence.duration_ns).text:
        words.append(f"Left out: {left_out}")
    return [line for sentence in words for line in wrapped(sentence, width)]


def _amount(part_ns: int, diagnosis: Diagnosis) -> str:
    about = "≈" if diagnosis.estimated and part_ns else ""
    return f"{about}{format_ns(part_ns)} ({rate(part_ns, diagnosis.evidence.duration_ns)})"


def _rest(diagnosis: Diagnosis, top: int, width: int) -> list[str]:
    lines: list[str] = []
    hidden = diagnosis.findings[top:]
    if hidden:
        cost_ns = sum(finding.counted_ns for finding in hidden)
        words = (
            f"{len(hidden)} smaller findings, {rate(cost_ns, diagnosis.evidence.duration_ns)}, "
            f"{share(cost_ns, diagnosis)} of all: --top {len(diagnosis.findings)}"
        )
        lines += [*wrapped(words, width), ""]
    lines += _not_explained(diagnosis, width)
    for rule, reason in diagnosis.unsure:
        lines += [*wrapped(f"Inconclusive: {rule.name}: {reason.needs}", width), ""]
    return lines


def _not_explained(diagnosis: Diagnosis, width: int) -> list[str]:
    rows = [
        (left.cost_ns, f"{_left(left)}, {format_count(left.count)} times")
        for left in unexplained(diagnosis)
    ]
    if not rows:
        return []
    if len(rows) > _UNEXPLAINED:
        left_ns = sum(cost_ns for cost_ns, _ in rows[_UNEXPLAINED:])
        rows[_UNEXPLAINED:] = [(left_ns, f"{len(rows) - _UNEXPLAINED} more")]
    lines: list[str] = [heading("Not explained by any rule")]
    for cost_ns, words in rows:
        label = f"{share(cost_ns, diagnosis):>7}  {words}"
        lines += row("", wrapped(label, width - INDENT - _LABEL))
    return [*lines, ""]


@dataclass(frozen=True, slots=True)
class Unexplained:
    """What no rule claims of a source."""

    path: Path
    origins: tuple[Origin, ...]
    """Whose doing it was."""
    count: int
    net_ns: int
    cost_ns: int
    """The estimate where there is a calibration, else the net time."""


def _left(left: Unexplained) -> str:
    if left.path == UNATTRIBUTED.path:
        return "unattributed: runnable, not running, and no event accounts for it"
    return Source(left.path).label


def unexplained(diagnosis: Diagnosis) -> list[Unexplained]:
    """What no rule claims by source, largest first."""
    groups: dict[Path, list[Share]] = {}
    for one in diagnosis.unexplained:
        groups.setdefault(one.path, []).append(one)
    found = [
        Unexplained(
            path,
            tuple(sorted({one.origin for one in same})),
            sum(one.count for one in same),
            sum(one.net_ns for one in same),
            sum(one.rank_ns for one in same),
        )
        for path, same in groups.items()
    ]
    return sorted(found, key=lambda left: (-left.cost_ns, left.path))


def _sum(diagnosis: Diagnosis, width: int) -> list[str]:
    explained_ns = sum(finding.counted_ns for finding in diagnosis.findings)
    left_ns = diagnosis.lost_ns - explained_ns
    about = "≈" if diagnosis.estimated else ""
    words = (
        f"Explained {about}{format_ns(explained_ns)} ({share(explained_ns, diagnosis)}), "
        f"not explained {about}{format_ns(left_ns)} ({share(left_ns, diagnosis)}), together "
        f"{about}{format_ns(diagnosis.lost_ns)}: all that was lost in the recording."
    )
    turns_ns = sum(one.net_ns for one in diagnosis.turns)
    if turns_ns:
        words += f" Other tasks waited {format_ns(turns_ns)} for the victims, which is no loss."
    return wrapped(words, width)


def _changes(changes: Sequence[Change], width: int) -> list[str]:
    lines: list[str] = [heading("Resolved, remaining and new causes since the saved diagnosis")]
    for change in changes:
        words = (
            f"{change.verdict.word}: {change.cause}: {format_ns(change.before_rate_ns)}/s → "
            f"{format_ns(change.after_rate_ns)}/s ({change.ratio_words}; {change.significance})"
        )
        lines += [" " * INDENT + line for line in wrapped(words, width - INDENT)]
    return lines if changes else [*lines, " " * INDENT + "no cause in either"]
