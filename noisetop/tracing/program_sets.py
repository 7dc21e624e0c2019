"""Sets of programs: the complete one, and those that add less and tell less.

The complete set tells what ran and who caused it. The others leave programs out, by their names in
``bpf/``; what is unknown then goes along with every result.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from noisetop.counters.left_out import (
    BUDGET,
    CHEAP,
    LOCAL,
    NO_BUDGET,
    NOTHING,
    STEPS,
    TIMERS,
    Budget,
    LeftOut,
)

_SENDERS = ("csd_queue", "ipi_send_cpu", "ipi_send_cpumask")
_ARMERS = ("hrtimer_start", "timer_start")
SECOND_TWINS = ("hrtimer_entry_twin_2", "hrtimer_exit_twin_2")
"""Attached once a watched CPU has met a timer of the softirq: bpf/timer.bpf.c."""
_TIMERS = (
    *("hrtimer_entry_twin_1", "hrtimer_exit_twin_1"),
    *SECOND_TWINS,
    *("timer_entry", "timer_exit"),
)
_TASKLETS = ("tasklet_entry", "tasklet_exit")
_ARMED = "who arms timers"
_SEVERAL = "functions of an interrupt that runs several"
_FUNCTIONS = "functions that interrupts run"
_RAISE, _RAISED = "softirq_raise", "who raises softirqs"


@dataclass(frozen=True, slots=True)
class ProgramSet:
    """What is not attached."""

    programs: tuple[str, ...] = ()
    """Names of programs."""
    left_out: LeftOut = NOTHING
    """What that means."""

    def sparing(self, programs: Collection[str]) -> ProgramSet:
        """The same on a kernel where nothing is unknown without some programs."""
        if _RAISE not in programs:
            return self
        unknown = tuple(what for what in self.left_out.unknown if what != _RAISED)
        return replace(self, left_out=replace(self.left_out, unknown=unknown))


COMPLETE = ProgramSet()
# LOCAL, and the steps of a budget: programs, and what is unknown without them.
_REDUCTIONS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    LOCAL: (
        (*_SENDERS, *_ARMERS, "work_queue", _RAISE, "wait_waking"),
        (
            "who sends interrupts",
            _ARMED,
            "who queues work",
            _RAISED,
            "who wakes a thread by an interrupt",
        ),
    ),
    TIMERS: ((*_TIMERS, *_TASKLETS, *_ARMERS), ("functions of timers and tasklets", _ARMED)),
    CHEAP: (("csd_entry",), (_SEVERAL,)),
}


def program_set(options: Iterable[str], budget: Budget = NO_BUDGET) -> ProgramSet:
    """The set for some of ``local`` and ``cheap``, less what a budget leaves out; with none of them
    the complete one."""
    given = set(options)
    asked = [option for option in (LOCAL, CHEAP) if option in given]
    steps = STEPS if CHEAP in asked else budget.steps
    parts = [*(option for option in asked if option == LOCAL), *steps]
    programs = [name for part in parts for name in _REDUCTIONS[part][0]]
    unknown = [what for part in parts for what in _REDUCTIONS[part][1]]
    if {LOCAL, CHEAP}.issubset(parts):  # no sender tells the only one
        unknown[unknown.index(_SEVERAL)] = _FUNCTIONS
    if budget.steps:
        asked.append(BUDGET)
    left_out = LeftOut(tuple(asked), tuple(dict.fromkeys(unknown)), budget)
    return ProgramSet(tuple(dict.fromkeys(programs)), left_out)
