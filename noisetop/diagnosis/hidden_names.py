"""Functions of the kernel without a name: what they are for is not known, and nothing guesses."""

from __future__ import annotations

import re

from noisetop.diagnosis.evidence import Evidence, Share
from noisetop.diagnosis.finding import Confidence, Finding
from noisetop.diagnosis.rule import Texts, grouped, rule

_ADDRESS = re.compile(r"0x[0-9a-f]{1,16}")


def _is_nameless(share: Share) -> bool:
    functions = share.cause[2:] if share.cause[0] in ("thread", "timer", "ipi") else share.cause[1:]
    return any(map(_ADDRESS.fullmatch, functions))


@rule(
    "nameless-function",
    "The kernel ran functions on this CPU whose names it hides",
    seen_as="an address in the place of a function",
    remedy="run noisetop as root, or with CAP_SYSLOG; sysctl -w kernel.kptr_restrict=1",
    undo="sysctl -w kernel.kptr_restrict with its former value",
    confirm="grep -m1 . /proc/kallsyms shows an address other than zeros",
    source="kernel/ksyms_common.c",
    confidence=Confidence.CERTAIN,
)
def nameless_function(evidence: Evidence, texts: Texts) -> Finding | None:
    """Before all other rules, which know functions by name."""
    mine = [share for share in evidence.shares if _is_nameless(share)]
    found = grouped("nameless-function", mine, evidence, None, texts)
    return found[0] if found else None


RULES = (nameless_function,)
