"""What the user asked not to trace: told as such, and never as something that did not happen."""

from __future__ import annotations

from noisetop.counters.left_out import CHEAP
from noisetop.diagnosis.evidence import Evidence
from noisetop.diagnosis.finding import Confidence, Finding
from noisetop.diagnosis.rule import Match, Texts, by_step, grouped, rule

_CALLERS = Match(
    (
        ("timer", "local_timer"),
        ("timer", "arch_timer"),
        ("ipi", "call_function*"),
        *(("softirq", vector) for vector in ("TIMER", "HRTIMER", "HI", "TASKLET")),
        *(("thread", "*", vector) for vector in ("TIMER", "HRTIMER", "HI", "TASKLET")),
    ),
    whole=True,
)


@rule(
    "functions-left-out",
    "What {about} ran on this CPU was not traced (--cheap)",
    seen_as=f"{_CALLERS.words}; in a recording with --cheap",
    remedy="trace again without --cheap",
    undo="nothing was changed",
    effect="the functions have findings of their own then",
    confirm="noisetop report FILE says what was left out",
    source="the functions are not traced, so none of the other rules can tell them",
    confidence=Confidence.POSSIBLE,
)
def functions_left_out(evidence: Evidence, texts: Texts) -> list[Finding]:
    """What runs callbacks, where these were not traced."""
    if CHEAP not in evidence.left_out.options:
        return []
    return grouped(
        "functions-left-out", _CALLERS.claimed(evidence.shares), evidence, by_step(-1), texts
    )
