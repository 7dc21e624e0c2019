"""Sets of programs: the complete one, and those that add less and tell less.

The complete set tells what ran and who caused it. The others leave programs out, by their names in
``bpf/``; what is unknown then goes along with every result.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from noisetop.counters.left_out import CHEAP, LOCAL, NOTHING, LeftOut

_SENDERS = ("csd_queue", "ipi_send_cpu", "ipi_send_cpumask")
_ARMERS = ("hrtimer_start", "timer_start")
_TIMERS = (
    "hrtimer_entry_twin_1",
    "hrtimer_entry_twin_2",
    "hrtimer_exit_twin_1",
    "hrtimer_exit_twin_2",
    "timer_entry",
    "timer_exit",
)
_TASKLETS = ("tasklet_entry", "tasklet_exit")
_ARMED = "who arms timers"
_SEVERAL = "functions of an interrupt that runs several"
_FUNCTIONS = "functions that interrupts run"


@dataclass(frozen=True, slots=True)
class ProgramSet:
    """What is not attached."""

    programs: tuple[str, ...] = ()
    """Names of programs."""
    left_out: LeftOut = NOTHING
    """What that means."""


COMPLETE = ProgramSet()
# By option: programs, and what is unknown without them.
_REDUCTIONS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    LOCAL: (
        (*_SENDERS, *_ARMERS, "work_queue", "softirq_raise", "wait_waking"),
        (
            "who sends interrupts",
            _ARMED,
            "who queues work",
            "who raises softirqs",
            "who wakes a thread by an interrupt",
        ),
    ),
    CHEAP: (
        ("csd_entry", *_TIMERS, *_TASKLETS, *_ARMERS),
        (
            "functions of timers and tasklets",
            _SEVERAL,
            _ARMED,
        ),
    ),
}


def program_set(options: Iterable[str]) -> ProgramSet:
    """The set for some of ``local`` and ``cheap``; with none of them the complete one."""
    wanted = set(options)
    asked = [option for option in _REDUCTIONS if option in wanted]
    programs = [name for option in asked for name in _REDUCTIONS[option][0]]
    unknown = [what for option in asked for what in _REDUCTIONS[option][1]]
    if wanted >= {LOCAL, CHEAP}:  # no sender tells the only one
        unknown[unknown.index(_SEVERAL)] = _FUNCTIONS
    left_out = LeftOut(tuple(asked), tuple(dict.fromkeys(unknown)))
    return ProgramSet(tuple(dict.fromkeys(programs)), left_out)
