"""What the user asked not to trace: told as such, and never as something that did not happen."""

from __future__ import annotations

from noisetop.counters.left_out import CHEAP, TIMERS
from noisetop.diagnosis.evidence import Evidence
from noisetop.diagnosis.finding import Confidence, Finding
from noisetop.diagnosis.rule import Match, Texts, by_step, grouped, rule

_VECTORS = ("TIMER", "HRTIMER", "HI", "TASKLET")
_TIMERS = (
    ("timer", "local_timer"),
    ("timer", "arch_timer"),
    *(("softirq", vector) for vector in _VECTORS),
    *(("thread", "*", vector) for vector in _VECTORS),
)
_RUN_TIMERS = Match(_TIMERS, whole=True)
_CALLERS = Match((*_TIMERS, ("ipi", "call_function*")), whole=True)


@rule(
    "functions-left-out",
    "What {about} ran on this CPU was not traced (--cheap or --budget)",
    seen_as=f"{_CALLERS.words}; in a recording with --cheap or --budget",
    remedy="trace again without --cheap and --budget",
    undo="nothing was changed",
    effect="the functions have findings of their own then",
    confirm="noisetop report FILE says what was left out",
    source="the functions are not traced, so none of the other rules can tell them",
    confidence=Confidence.POSSIBLE,
)
def functions_left_out(evidence: Evidence, texts: Texts) -> list[Finding]:
    """What runs callbacks, where these were not traced."""
    reduced = evidence.left_out.reduced
    if TIMERS not in reduced:
        return []
    match = _CALLERS if CHEAP in reduced else _RUN_TIMERS
    return grouped(
        "functions-left-out", match.claimed(evidence.shares), evidence, by_step(-1), texts
    )
