"""What the texts of rules may mention in braces: names, processes and CPUs of the case at hand."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence

from noisetop.diagnosis.advice import PROGRAM
from noisetop.diagnosis.evidence import Evidence, Share
from noisetop.text.cpu_list import format_cpu_list

_EXPRESSION = re.compile(r"([][\\.^$*+?(){}|])")
_UNKNOWN_PID = "PID"
_TOLD = 3


def facts(
    evidence: Evidence, shares: Sequence[Share], names: Sequence[str], told: Sequence[str]
) -> Mapping[str, str]:
    """Each word in braces with what takes its place. ``{about}`` is for people and made from
    ``told``; all others are quoted for a shell, ``{q}`` as an expression of pgrep and ``{e}`` as
    those of grep -F, made from ``names``."""
    share = shares[0] if shares else None
    isolate = _to_isolate(evidence, shares)
    kept = tuple(cpu for cpu in evidence.online if cpu not in isolate) or (0,)
    expression = "|".join(_EXPRESSION.sub(r"\\\1", name) for name in names)
    return {
        "about": _listed(told) or "something",
        "q": f"-- {shlex.quote(expression)}" if names else PROGRAM,
        "e": " ".join(f"-e {shlex.quote(name)}" for name in names) or PROGRAM,
        "function": shlex.quote(share.cause[-1]) if share else "FUNCTION",
        "pid": _process_of(evidence, shares),
        "victim": str(evidence.victims[0]) if len(evidence.victims) == 1 else _UNKNOWN_PID,
        "command": PROGRAM,
        "keep": format_cpu_list(kept),
        "mask": format(sum(1 << cpu for cpu in kept), "x"),
        "cpus": format_cpu_list(isolate),
        "all": format_cpu_list(evidence.online or evidence.cpus),
        "where": format_cpu_list((one.cpu for one in shares) if share else evidence.cpus),
        "cpu": str(share.cpu if share else min(evidence.cpus, default=0)),
        "irq": (share.line[0] if share else "") or "N",
    }


def _listed(names: Sequence[str]) -> str:
    """``a, b, c and 4 more``."""
    more = f" and {len(names) - _TOLD} more" if len(names) > _TOLD else ""
    return ", ".join(names[:_TOLD]) + more


def _to_isolate(evidence: Evidence, shares: Iterable[Share]) -> tuple[int, ...]:
    """CPUs to isolate: the watched ones, or where all are watched those that lost time. Never
    all that there are, as a housekeeping CPU is needed."""
    watched = set(evidence.cpus)
    if watched >= set(evidence.online):
        watched = {share.cpu for share in shares} or watched
    if watched >= set(evidence.online):
        watched -= set(evidence.online[:1])
    return tuple(sorted(watched or evidence.cpus))


def _process_of(evidence: Evidence, shares: Sequence[Share]) -> str:
    """The process that caused most of it, where that is another than the one that is measured."""
    largest = max(
        (share for share in shares if share.sender),
        key=lambda share: share.net_ns,
        default=None,
    )
    pid = evidence.process_of(largest.sender) if largest else 0
    return str(pid) if pid and pid not in evidence.victims else _UNKNOWN_PID
