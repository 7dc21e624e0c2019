"""Which programs run where nothing is watched, as a table for the documentation:
``python -m bench.program_table`` between the marks of docs/performance.md."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from noisetop import _native
from noisetop.counters.left_out import CHEAP, LOCAL
from noisetop.tracing.program_sets import SECOND_TWINS, program_set

_SOFTIRQ = ("softirq_entry", "softirq_exit")
_CALLED = ("call_function_single_entry", "csd_function_entry", "call_function_single_exit")
_HAPPENINGS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("wake-up, and the switch to the woken task", ("sched_wakeup", "sched_switch")),
    ("wake-up that another CPU carries out: its sender", ("csd_queue_cpu", "ipi_send_cpu")),
    ("… and its target", (*_CALLED, "sched_wakeup", "sched_switch")),
    (
        "precise timer, armed and expired",
        (
            *("hrtimer_start", "local_timer_entry", "hrtimer_expire_entry"),
            *("hrtimer_expire_exit", "local_timer_exit"),
        ),
    ),
    (
        "timer of the wheel, armed and expired, and its softirq",
        ("timer_start", _SOFTIRQ[0], "timer_expire_entry", "timer_expire_exit", _SOFTIRQ[1]),
    ),
    ("softirq; packet over loopback", _SOFTIRQ),
    ("packet of a network card", ("irq_handler_entry", "irq_handler_exit", *_SOFTIRQ)),
    ("function call: its sender", ("csd_queue_cpu", "ipi_send_cpu")),
    ("… and its target", _CALLED),
    (
        "work item, queued and executed",
        ("workqueue_queue_work", "workqueue_execute_start", "workqueue_execute_end"),
    ),
)
"""What happens, and the tracepoints that it hits. Without sched_waking and softirq_raise: their
programs are attached only on kernels that lack csd_queue_cpu, or casts."""
_SETS = {"complete": (), "`--local`": (LOCAL,), "`--cheap`": (CHEAP,), "both": (LOCAL, CHEAP)}


def programs_on(tracepoint: str) -> tuple[str, ...]:
    """Names of the programs that the embedded object has on one tracepoint from the start, sorted.
    Raises OSError."""
    known = _native.programs().items()
    found = (name for name, place in known if place.rpartition("/")[2] == tracepoint)
    return tuple(sorted(name for name in found if name not in SECOND_TWINS))


def markdown() -> str:
    """The table: how many programs each set runs, and those of the complete one by name."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield f"| for each | {' | '.join(_SETS)} | programs of the complete set |"
    yield f"| --- |{' ---: |' * len(_SETS)} --- |"
    for words, tracepoints in _HAPPENINGS:
        programs = [name for one in tracepoints for name in programs_on(one)]
        counts = [
            sum(name not in program_set(options).programs for name in programs)
            for options in _SETS.values()
        ]
        named = ", ".join(f"`{name}`" for name in programs)
        yield f"| {words} | {' | '.join(map(str, counts))} | {named} |"


if __name__ == "__main__":
    sys.stdout.write(markdown())
