"""A finding at length: what it cost, what was seen, what to type and how to take it back."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

from noisetop.checks import CheckResult
from noisetop.checks.page import wrap_command
from noisetop.diagnosis import Diagnosis
from noisetop.diagnosis.audit import related
from noisetop.diagnosis.finding import Finding
from noisetop.events.interruption import Source
from noisetop.text.cpu_list import format_cpu_list
from noisetop.text.sanitize import printable
from noisetop.text.styled import heading
from noisetop.text.units import format_count, format_ns

INDENT = 4
_LABEL = 12
_SENDERS = 3
_LONGEST = 400
_VERBS = re.compile(
    r"(bpftool|cat|chrt|cpupower|echo|ethtool|for|grep|kill|ls|mount|noisetop|perf|pgrep|ps|strace"
    r"|sysctl|taskset|tc|umount|[A-Z_]+=\S+) "
)
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_PROSE = re.compile(
    r", |; if | (for every|for the|with the|the former|of the)\b"
    r"| (shows?|is|lists?|while|before and after)\b"
)


def details(
    number: int,
    finding: Finding,
    diagnosis: Diagnosis,
    audit: Sequence[CheckResult],
    width: int,
) -> list[str]:
    """The lines of a finding; those that are commands can be pasted."""
    inside = width - INDENT - _LABEL
    first, *more = wrapped(finding.cause, width - INDENT - 1)
    lines: list[str] = [
        heading(f"{number:>2}. {first}"),
        *(heading(" " * INDENT + line) for line in more),
    ]
    lines += row("cost", wrapped(_cost(finding, diagnosis), inside))
    for sentence in _evidence(finding, diagnosis):
        lines += row("evidence", wrapped(sentence, inside))
    for result in related(finding, audit):
        lines += row("check", wrapped(_check_line(result), inside))
    for one in finding.readings:
        lines += row("read", wrapped(f"{one.path}: {one.value}", inside))
    lines += row("remedy", command(finding.remedy, inside))
    if finding.reboot:
        lines += row("", ["takes effect after a reboot"])
    lines += row("undo", command(finding.undo, inside))
    if finding.otherwise:
        lines += row("or", command(finding.otherwise, inside))
    lines += row("effect", wrapped(effect(finding, diagnosis), inside))
    lines += row("confidence", [finding.confidence.word])
    return lines + row("to confirm", command(finding.confirm, inside))


def wrapped(words: str, width: int) -> list[str]:
    """Prose, lines broken; shortened where it is very long."""
    shown = words if len(words) <= _LONGEST else words[: _LONGEST - 1] + "…"
    return textwrap.wrap(printable(shown), max(width, 20), break_on_hyphens=False) or [""]


def row(label: str, lines: Sequence[str]) -> list[str]:
    """Lines with a label before the first."""
    labels = [label] + [""] * (len(lines) - 1)
    return [
        " " * INDENT + f"{name:<{_LABEL}}" + line for name, line in zip(labels, lines, strict=True)
    ]


def rate(net_ns: float, duration_ns: int) -> str:
    """Time taken in each second: ``1.20 ms/s``."""
    return f"{format_ns(net_ns * 1e9 / duration_ns)}/s"


def share(part_ns: int, diagnosis: Diagnosis) -> str:
    """In percent of all that was lost."""
    return f"{100 * part_ns / diagnosis.lost_ns:.1f} %" if diagnosis.lost_ns else "0 %"


def command(words: str, width: int) -> list[str]:
    """A command that can still be pasted, or prose. What names in it are quoted with is not looked
    at: they can look like anything, and prose is broken where a shell would see the end of a line.
    """
    bare = _QUOTED.sub("''", words)
    if _VERBS.match(bare) and not _PROSE.search(bare):
        return wrap_command(words, width)
    return wrapped(words, width)


def _cost(finding: Finding, diagnosis: Diagnosis) -> str:
    duration_ns = diagnosis.evidence.duration_ns
    parts = []
    if finding.shares:
        net = f" (net {rate(finding.net_ns, duration_ns)})" if finding.estimated else ""
        about = "≈" if finding.estimated else ""
        parts.append(
            f"{about}{rate(finding.lost_ns, duration_ns)}{net} on CPU "
            f"{format_cpu_list(finding.cpus)}, {share(finding.lost_ns, diagnosis)} of the time lost"
        )
    if finding.wait_ns:
        parts.append(
            f"threads waited {rate(finding.wait_ns, duration_ns)} for it, "
            f"{format_count(finding.wait_count)} times"
        )
    whose = ", ".join(origin.label for origin in finding.origins)
    return "; ".join(parts) + (f"; origin: {whose}" if whose else "")


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
    duration_ns = diagnosis.evidence.duration_ns
    gain = (
        f"up to {rate(finding.cost_ns, duration_ns)} less, "
        f"{format_count(finding.count * 1e9 / duration_ns)} fewer interruptions a second"
        if finding.shares
        else f"up to {rate(finding.cost_ns, duration_ns)} less waiting"
    )
    return f"{gain}; {finding.effect}" if finding.effect else gain
