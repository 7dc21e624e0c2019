"""Results of an audit as a page of text, and as JSON."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterable, Sequence

from noisetop.checks.audited import AuditedMachine
from noisetop.checks.result import CheckResult
from noisetop.checks.status import Status
from noisetop.machine.files import shortened
from noisetop.machine.machine import cpu_words
from noisetop.text.cpu_list import format_cpu_list
from noisetop.text.sanitize import printable
from noisetop.text.styled import BAD, DETAIL, DOUBTFUL, GOOD, StyledLine, heading, styled

_INDENT = 10
_LABEL = 10
_LONGEST = 600
_STYLES = {Status.FAIL: BAD, Status.WARN: DOUBTFUL, Status.SKIP: DETAIL, Status.PASS: GOOD}
_WORDS = {
    Status.FAIL: "fail",
    Status.WARN: "warn",
    Status.SKIP: "inconclusive",
    Status.PASS: "pass",
}
_HEADINGS = {Status.SKIP: "Inconclusive or not applicable", Status.PASS: "Passed"}
_HINT = "noisetop check -v shows readings, reasons and remedies."
_BOOT_HINT = (
    "Kernel command line: GRUB_CMDLINE_LINUX in /etc/default/grub, then update-grub (Debian, "
    "Ubuntu) or grub2-mkconfig -o /boot/grub2/grub.cfg (others); in force after a reboot."
)


def counts(results: Iterable[CheckResult]) -> dict[Status, int]:
    """How many results there are of each status."""
    totals = dict.fromkeys(Status, 0)
    for result in results:
        totals[result.status] += 1
    return totals


def verdict(results: Iterable[CheckResult]) -> StyledLine:
    """The worst status, then the totals: ``FAIL: 5 fail, 7 warn, 20 inconclusive, 28 pass``."""
    totals = counts(results)
    worst = next((s for s in (Status.FAIL, Status.WARN, Status.PASS) if totals[s]), Status.SKIP)
    listed = ", ".join(f"{totals[status]} {word}" for status, word in _WORDS.items())
    return _painted(f"{_WORDS[worst].upper()}: {listed}", worst, len(_WORDS[worst]))


def brief_lines(
    results: Sequence[CheckResult], machine: AuditedMachine, *, width: int = 80
) -> list[str]:
    """The verdict, then one line for each check, worst first; lines are cut at ``width`` cells."""
    lines: list[str] = [verdict(results), *_head(machine, width), ""]
    for result in results:
        words = printable(f"{result.check.name}: {shortened(result.verdict.cause, _LONGEST)}")
        status = result.status.upper()
        line = f"{status} {result.id:<4} {_cut(words, width - _INDENT)}"
        lines.append(_painted(line, result.status, len(status)))
    return [*lines, "", _HINT]


def verbose_lines(
    results: Sequence[CheckResult], machine: AuditedMachine, *, width: int = 80
) -> list[str]:
    """The verdict, then each finding with its readings and remedy, then all other checks."""
    lines: list[str] = [verdict(results), *_head(machine, width), ""]
    for result in results:
        if result.status in (Status.FAIL, Status.WARN):
            lines += [*_finding(result, width), ""]
    for status in (Status.SKIP, Status.PASS):
        group = [result for result in results if result.status is status]
        if group:
            lines += [heading(_HEADINGS[status]), *_list(group, width), ""]
    if any(r.verdict.remedy and _is_boot_word(r) for r in results):
        lines += [*textwrap.wrap(_BOOT_HINT, width), ""]
    return lines[:-1]


def _is_boot_word(result: CheckResult) -> bool:
    fix = result.verdict.remedy
    return fix is not None and fix.reboot and not fix.shell


def _painted(line: str, status: Status, length: int) -> StyledLine:
    """The line with its first characters in the colour of a status."""
    return styled(line, _STYLES[status], end=length)


def _head(machine: AuditedMachine, width: int) -> list[str]:
    release = machine.read("/proc/sys/kernel/osrelease").text or "unknown"
    kind = "container" if machine.container else "virtual machine" if machine.virtual else "host"
    isolated = format_cpu_list(machine.isolated) or "none"
    nohz_full = format_cpu_list(machine.nohz_full) or "none"
    sentences = [
        f"{cpu_words(machine.cpus)} of {format_cpu_list(machine.online)}, "
        f"goal {machine.goal}, {kind}, kernel {release[:64]}",
        f"isolated: {isolated}; nohz_full: {nohz_full}",
    ]
    if not machine.has_spare and len(machine.online) > 1:
        example = format_cpu_list(machine.online[1:])
        sentences.append(
            "Every CPU is watched: checks that need a housekeeping CPU are inconclusive. "
            f"Name the CPUs to isolate: noisetop check -c {example}"
        )
    return [line for words in sentences for line in textwrap.wrap(printable(words), width)]


def _finding(result: CheckResult, width: int) -> list[str]:
    verdict = result.verdict
    cause, *more = _wrapped(verdict.cause, width - _INDENT)
    status = result.status.upper()
    first = _painted(f"{status:<4} {result.id:<4} {cause}", result.status, len(status))
    lines: list[str] = [first, *(" " * _INDENT + line for line in more)]
    lines += _row("why", _wrapped(result.check.why, width - _INDENT - _LABEL))
    for reading in verdict.readings:
        shown = f"{reading.path}: {reading.value}"
        lines += _row("read", _wrapped(shown, width - _INDENT - _LABEL))
    lines += _row("expected", _wrapped(result.check.expected, width - _INDENT - _LABEL))
    if fix := verdict.remedy:
        wrap = wrap_command if fix.shell else _wrapped
        lines += _row("fix", wrap(fix.command, width - _INDENT - _LABEL))
        lines += _row("undo", wrap(fix.undo, width - _INDENT - _LABEL))
        if fix.reboot:
            lines += _row("", ["takes effect after a reboot"])
    else:
        lines += _row("fix", _wrapped(result.check.fix, width - _INDENT - _LABEL))
    if result.caveat:
        lines += _row("note", _wrapped(result.caveat, width - _INDENT - _LABEL))
    return lines


def _row(label: str, lines: list[str]) -> list[str]:
    labels = [label] + [""] * (len(lines) - 1)
    return [
        " " * _INDENT + f"{name:<{_LABEL}}" + line for name, line in zip(labels, lines, strict=True)
    ]


def _wrapped(words: str, width: int) -> list[str]:
    return textwrap.wrap(printable(shortened(words, _LONGEST)), width) or [""]


def wrap_command(command: str, width: int) -> list[str]:
    """Breaks a command between words, outside quotes, so that it can still be pasted."""
    words = re.findall(r"(?:'[^']*'|\"[^\"]*\"|[^\s'\"]|['\"])+", printable(command))
    lines: list[str] = []
    for word in words:
        if lines and len(lines[-1]) + len(word) + 3 <= width:
            lines[-1] += " " + word
        else:
            lines.append(word)
    return [f"{line} \\" for line in lines[:-1]] + lines[-1:]


def _cut(words: str, width: int) -> str:
    return words if len(words) <= width else f"{words[: width - 1].rstrip()}…"


def _list(results: list[CheckResult], width: int) -> list[str]:
    """One line for each result; those with the same reason together."""
    by_cause: dict[str, list[CheckResult]] = {}
    for result in results:
        by_cause.setdefault(shortened(result.verdict.cause, _LONGEST), []).append(result)
    lines = []
    for cause, group in by_cause.items():
        if len(group) == 1:
            first, *more = _wrapped(cause, width - _INDENT)
            lines.append(f"     {group[0].id:<4} {first}")
            lines += [" " * _INDENT + line for line in more]
            continue
        lines += textwrap.wrap(
            printable(f"{len(group)} checks: {cause}:"),
            width,
            initial_indent="     ",
            subsequent_indent=" " * _INDENT,
        )
        names = ", ".join(f"{result.id} {result.check.name}" for result in group)
        indent = " " * _INDENT
        lines += textwrap.wrap(names, width, initial_indent=indent, subsequent_indent=indent)
    return lines


def as_json(results: Sequence[CheckResult], machine: AuditedMachine, version: str) -> str:
    """Everything of the page, for programs. Control characters are escaped by JSON."""
    document = {
        "noisetop": version,
        "host": machine.read("/proc/sys/kernel/hostname").text.strip()[:64],
        "goal": machine.goal,
        "cpus": format_cpu_list(machine.cpus),
        "online": format_cpu_list(machine.online),
        "isolated": format_cpu_list(machine.isolated),
        "nohz_full": format_cpu_list(machine.nohz_full),
        "housekeeping": format_cpu_list(machine.housekeeping),
        "kernel": machine.read("/proc/sys/kernel/osrelease").text[:256],
        "container": machine.container,
        "virtual": machine.virtual,
        "window_ns": round(machine.window.seconds * 1e9) if machine.window else 0,
        "counts": counts(results),
        "checks": [_as_dict(result) for result in results],
    }
    return json.dumps(document, indent=2) + "\n"


def _as_dict(result: CheckResult) -> dict[str, object]:
    fix = result.verdict.remedy
    return {
        "id": result.id,
        "name": result.check.name,
        "subject": result.check.subject,
        "status": result.status,
        "cause": shortened(result.verdict.cause, _LONGEST),
        "cpus": format_cpu_list(result.verdict.cpus),
        "read": [{"path": r.path, "value": r.value} for r in result.verdict.readings],
        "expected": result.check.expected,
        "why": result.check.why,
        "remedy": fix
        and {"command": fix.command, "undo": fix.undo, "reboot": fix.reboot, "shell": fix.shell},
        "caveat": shortened(result.caveat, _LONGEST) if result.caveat else "",
        "explains": result.explains,
    }
