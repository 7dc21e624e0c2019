"""A diagnosis as a page of text, and as JSON."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Sequence

from noisetop.checked_json import sealed
from noisetop.checks import CheckResult
from noisetop.checks.page import wrap_command
from noisetop.diagnosis import Diagnosis
from noisetop.diagnosis.audit import related
from noisetop.diagnosis.evidence import Share
from noisetop.diagnosis.finding import Finding
from noisetop.diagnosis.saved import Change, as_saved
from noisetop.events.interruption import Source
from noisetop.text.cpu_list import format_cpu_list
from noisetop.text.sanitize import printable
from noisetop.text.styled import heading
from noisetop.text.units import format_count, format_ns

_INDENT = 4
_LABEL = 12
_SENDERS = 3
_LONGEST = 400
_UNEXPLAINED = 10
_VERBS = frozenset(
    ["echo", "sysctl", "taskset", "for", "cpupower", "ethtool", "umount", "mount", "noisetop"]
)
_PROSE = (", ", "; if ", " for every ", " for the ", " with the ", " the former ", " of the ")


def page_lines(
    diagnosis: Diagnosis,
    audit: Sequence[CheckResult] = (),
    *,
    title: str = "",
    width: int = 80,
    top: int = 20,
    changes: Sequence[Change] | None = None,
) -> list[str]:
    """The page: findings by what they cost, then what no rule explains, then the sum."""
    page = _head(diagnosis, title, width)
    if audit:
        page += _wrapped("Checks show the present setup of this machine: noisetop check.", width)
    page.append("")
    if changes is not None:
        page += [*_changes(changes, width), ""]
    if not diagnosis.findings:
        page += ["No noise was measured, so there is nothing to explain.", ""]
    for number, finding in enumerate(diagnosis.findings[:top], 1):
        page += [*_finding(number, finding, diagnosis, audit, width), ""]
    return [*page, *_rest(diagnosis, top, width), *_sum(diagnosis, width)]


def _wrapped(words: str, width: int) -> list[str]:
    shown = words if len(words) <= _LONGEST else words[: _LONGEST - 1] + "…"
    return textwrap.wrap(printable(shown), max(width, 20), break_on_hyphens=False) or [""]


def _command(words: str, width: int) -> list[str]:
    """A command that can still be pasted; or words, where it is not only a command."""
    verb = words.partition(" ")[0]
    if verb in _VERBS and not any(mark in words for mark in _PROSE):
        return wrap_command(words, width)
    return _wrapped(words, width)


def _row(label: str, lines: Sequence[str]) -> list[str]:
    labels = [label] + [""] * (len(lines) - 1)
    return [
        " " * _INDENT + f"{name:<{_LABEL}}" + line for name, line in zip(labels, lines, strict=True)
    ]


def _share(net_ns: int, diagnosis: Diagnosis) -> str:
    total = diagnosis.evidence.noise_ns
    return f"{100 * net_ns / total:.1f} %" if total else "0 %"


def rate(net_ns: float, duration_ns: int) -> str:
    """Time taken in each second: ``1.20 ms/s``."""
    return f"{format_ns(net_ns * 1e9 / duration_ns)}/s"


def _head(diagnosis: Diagnosis, title: str, width: int) -> list[str]:
    evidence = diagnosis.evidence
    where = f"CPU {format_cpu_list(evidence.cpus)}" if evidence.cpus else "no CPU"
    words = [
        f"{f'{title}: ' if title else ''}{where}, {format_ns(evidence.duration_ns)}, noise "
        f"{format_ns(evidence.noise_ns)} ({rate(evidence.noise_ns, evidence.duration_ns)})"
    ]
    if evidence.incomplete:
        words.append(f"Incomplete: {evidence.incomplete}; the true figures are larger.")
    return [line for sentence in words for line in _wrapped(sentence, width)]


def _finding(
    number: int,
    finding: Finding,
    diagnosis: Diagnosis,
    audit: Sequence[CheckResult],
    width: int,
) -> list[str]:
    inside = width - _INDENT - _LABEL
    first, *more = _wrapped(finding.cause, width - _INDENT - 1)
    lines: list[str] = [
        heading(f"{number:>2}. {first}"),
        *(heading(" " * _INDENT + line) for line in more),
    ]
    lines += _row("cost", _wrapped(_cost(finding, diagnosis), inside))
    for sentence in _evidence(finding, diagnosis):
        lines += _row("evidence", _wrapped(sentence, inside))
    for result in related(finding, audit):
        lines += _row("check", _wrapped(_check_line(result), inside))
    for one in finding.readings:
        lines += _row("read", _wrapped(f"{one.path}: {one.value}", inside))
    shown = wrap_command if finding.shell else _command
    lines += _row("remedy", shown(finding.remedy, inside))
    if finding.reboot:
        lines += _row("", ["takes effect after a reboot"])
    lines += _row("undo", shown(finding.undo, inside))
    if finding.otherwise:
        lines += _row("or", _wrapped(finding.otherwise, inside))
    lines += _row("effect", _wrapped(effect(finding, diagnosis), inside))
    lines += _row("confidence", _wrapped(_confidence(finding), inside))
    return lines


def _cost(finding: Finding, diagnosis: Diagnosis) -> str:
    duration_ns = diagnosis.evidence.duration_ns
    parts = []
    if finding.shares:
        parts.append(
            f"{rate(finding.net_ns, duration_ns)} on CPU {format_cpu_list(finding.cpus)}, "
            f"{_share(finding.net_ns, diagnosis)} of all noise"
        )
    if finding.wait_ns:
        parts.append(
            f"threads waited {rate(finding.wait_ns, duration_ns)} for it, "
            f"{format_count(finding.wait_count)} times"
        )
    return "; ".join(parts)


def _confidence(finding: Finding) -> str:
    return f"{finding.confidence.word}; to confirm: {finding.confirm}"


def _times(count: int) -> str:
    return "1 interruption" if count == 1 else f"{format_count(count)} interruptions"


def _evidence(finding: Finding, diagnosis: Diagnosis) -> list[str]:
    worst = finding.worst
    if worst is None:
        return []
    every = f", one every {format_ns(finding.period_ns)}" if finding.period_ns else ""
    at_ns = max(worst.max_start_ns - diagnosis.evidence.start_ns, 0)
    sentences = [
        f"{_times(finding.count)}{every}; longest {format_ns(worst.max_ns)} "
        f"on CPU {worst.cpu} at +{format_ns(at_ns)}",
        "seen as " + ", ".join(Source(path).label for path in finding.paths[:2]),
    ]
    senders = finding.senders()
    if senders:
        shown = [
            f"{sender.trigger.label} ({format_count(sender.count)}, {format_ns(sender.net_ns)})"
            for sender in senders[:_SENDERS]
        ]
        more = f" and {len(senders) - _SENDERS} more" if len(senders) > _SENDERS else ""
        sentences.append("from " + ", ".join(shown) + more)
    return sentences


def _check_line(result: CheckResult) -> str:
    readings = "; ".join(f"{one.path}: {one.value}" for one in result.verdict.readings[:2])
    return f"{result.id} {result.check.name} ({result.status})" + (
        f" {readings}" if readings else ""
    )


def effect(finding: Finding, diagnosis: Diagnosis) -> str:
    """What to expect of the remedy."""
    seconds = diagnosis.evidence.duration_ns / 1e9
    gain = (
        f"up to {rate(finding.cost_ns, diagnosis.evidence.duration_ns)} less, "
        f"{format_count(finding.count / seconds)} fewer interruptions a second"
        if finding.shares
        else f"up to {rate(finding.cost_ns, diagnosis.evidence.duration_ns)} less waiting"
    )
    return f"{gain}; {finding.effect}" if finding.effect else gain


def _rest(diagnosis: Diagnosis, top: int, width: int) -> list[str]:
    lines: list[str] = []
    hidden = diagnosis.findings[top:]
    if hidden:
        cost_ns = sum(finding.net_ns for finding in hidden)
        words = (
            f"{len(hidden)} smaller findings, {rate(cost_ns, diagnosis.evidence.duration_ns)}, "
            f"{_share(cost_ns, diagnosis)} of all noise: --top {len(diagnosis.findings)}"
        )
        lines += [*_wrapped(words, width), ""]
    if diagnosis.unexplained_ns or diagnosis.unexplained:
        lines.append(heading("Not explained by any rule"))
        groups = unexplained(diagnosis)
        for path, (count, net_ns) in groups[:_UNEXPLAINED]:
            label = (
                f"{_share(net_ns, diagnosis):>7}  {Source(path).label}, {format_count(count)} times"
            )
            lines += _row("", _wrapped(label, width - _INDENT - _LABEL))
        if len(groups) > _UNEXPLAINED:
            left = sum(net for _, (_, net) in groups[_UNEXPLAINED:])
            lines += _row("", [f"{_share(left, diagnosis):>7}  {len(groups) - _UNEXPLAINED} more"])
        lines.append("")
    for rule, reason in diagnosis.unsure:
        lines += [*_wrapped(f"Inconclusive: {rule.name}: {reason.needs}", width), ""]
    return lines


def unexplained(diagnosis: Diagnosis) -> list[tuple[tuple[str, ...], tuple[int, int]]]:
    """Source, count and net time of what no rule claims, largest first."""
    groups: dict[tuple[str, ...], tuple[int, int]] = {}
    for share in diagnosis.unexplained:
        count, net_ns = groups.get(share.path, (0, 0))
        groups[share.path] = count + share.count, net_ns + share.net_ns
    return sorted(groups.items(), key=lambda item: (-item[1][1], item[0]))


def _sum(diagnosis: Diagnosis, width: int) -> list[str]:
    total = diagnosis.evidence.noise_ns
    words = (
        f"Explained {format_ns(diagnosis.explained_ns)} "
        f"({_share(diagnosis.explained_ns, diagnosis)}), not explained "
        f"{format_ns(diagnosis.unexplained_ns)} "
        f"({_share(diagnosis.unexplained_ns, diagnosis)}), together {format_ns(total)}: "
        "all noise of the recording."
    )
    return _wrapped(words, width)


def _changes(changes: Sequence[Change], width: int) -> list[str]:
    lines: list[str] = [heading("Resolved, remaining and new causes since the saved diagnosis")]
    for change in changes:
        words = (
            f"{change.verdict.word}: {change.cause}: {format_ns(change.before_rate_ns)}/s → "
            f"{format_ns(change.after_rate_ns)}/s ({change.ratio_words}; {change.significance})"
        )
        lines += [" " * _INDENT + line for line in _wrapped(words, width - _INDENT)]
    return lines if changes else [*lines, " " * _INDENT + "no cause in either"]


def as_json(
    diagnosis: Diagnosis,
    audit: Sequence[CheckResult] = (),
    *,
    version: str,
    title: str = "",
    changes: Sequence[Change] | None = None,
) -> str:
    """Everything of the page for programs, times in ns. Control characters are escaped."""
    evidence = diagnosis.evidence
    document: dict[str, object] = {
        **as_saved(diagnosis, version),
        "title": title,
        "start_ns": evidence.start_ns,
        "explained_ns": diagnosis.explained_ns,
        "unexplained_ns": diagnosis.unexplained_ns,
        "incomplete": evidence.incomplete,
        "findings": [_finding_dict(one, diagnosis, audit) for one in diagnosis.findings],
        "unexplained": [
            {"path": list(path), "count": count, "net_ns": net_ns}
            for path, (count, net_ns) in unexplained(diagnosis)
        ],
        "cannot_tell": [
            {"rule": rule.name, "needs": reason.needs} for rule, reason in diagnosis.unsure
        ],
    }
    if changes is not None:
        document["changes"] = [change.as_dict() for change in changes]
    # json escapes all control characters but this one.
    return json.dumps(sealed(document), indent=2).replace("\x7f", "\\u007f") + "\n"


def _finding_dict(
    finding: Finding, diagnosis: Diagnosis, audit: Sequence[CheckResult]
) -> dict[str, object]:
    return {
        "key": finding.key,
        "rule": finding.rule,
        "about": finding.about,
        "cause": finding.cause,
        "cpus": list(finding.cpus),
        "count": finding.count,
        "net_ns": finding.net_ns,
        "net_ns_per_s": round(finding.net_ns * 1e9 / diagnosis.evidence.duration_ns),
        "wait_ns": finding.wait_ns,
        "wait_count": finding.wait_count,
        "blocks_ns": list(finding.blocks_ns),
        "period_ns": finding.period_ns,
        "worst": _worst(finding.worst),
        "paths": [list(path) for path in finding.paths],
        "senders": [
            {"label": sender.trigger.label, "count": sender.count, "net_ns": sender.net_ns}
            for sender in finding.senders()
        ],
        "remedy": finding.remedy,
        "undo": finding.undo,
        "shell": finding.shell,
        "otherwise": finding.otherwise,
        "read": [{"path": one.path, "value": one.value} for one in finding.readings],
        "reboot": finding.reboot,
        "effect": effect(finding, diagnosis),
        "confidence": finding.confidence,
        "confirm": finding.confirm,
        "checks": [
            {
                "id": result.id,
                "name": result.check.name,
                "status": result.status,
                "read": [{"path": r.path, "value": r.value} for r in result.verdict.readings],
            }
            for result in related(finding, audit)
        ],
    }


def _worst(share: Share | None) -> dict[str, object] | None:
    if share is None:
        return None
    return {"cpu": share.cpu, "start_ns": share.max_start_ns, "net_ns": share.max_ns}
