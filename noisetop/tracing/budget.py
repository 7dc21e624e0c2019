"""Which set of programs keeps within a budget: the time that is added to an interruption.

An interruption is here an interrupt or a softirq that runs one function: each of its programs runs
once. What a switch to another thread takes is the same in every set.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from noisetop.counters.left_out import STEPS, Budget
from noisetop.errors import NoisetopError
from noisetop.tracing.program_sets import ProgramSet, program_set

Costs = Mapping[str, float | None]
"""ns per run of each program that this kernel takes, by name; None: it did not run, or not often
enough."""

# By class: its programs, without those that timers of the softirq bring. On arm64 the timer is a
# device interrupt, and one vector carries all IPIs.
_CLASSES: dict[str, tuple[str, ...]] = {
    "timer": (
        "local_timer_entry",
        "local_timer_exit",
        "hrtimer_entry_twin_1",
        "hrtimer_exit_twin_1",
    ),
    "ipi": ("call_function_single_entry", "call_function_single_exit", "csd_entry"),
    "softirq": ("softirq_raise", "softirq_entry", "softirq_exit", "timer_entry", "timer_exit"),
}
_ELSEWHERE = {
    "local_timer_entry": "irq_entry",
    "local_timer_exit": "irq_exit",
    "call_function_single_entry": "vector_entry",
    "call_function_single_exit": "vector_exit",
}
# Programs that do the same work: one that is not measured costs as much as the first that is.
_ALIKE = (
    ("local_timer_entry", "call_function_single_entry", "irq_entry", "vector_entry"),
    ("local_timer_exit", "call_function_single_exit", "irq_exit", "vector_exit"),
    ("hrtimer_entry_twin_1", "timer_entry", "csd_entry"),
    ("hrtimer_exit_twin_1", "timer_exit"),
    ("softirq_raise", "softirq_entry", "local_timer_entry", "irq_entry"),
    ("softirq_entry", "local_timer_entry", "irq_entry"),
    ("softirq_exit", "local_timer_exit", "irq_exit"),
)
SENT = frozenset(
    name for name in (*_CLASSES["ipi"], *_ELSEWHERE.values()) if not name.startswith("irq_")
)
"""Those that run only where another CPU sends an interrupt."""
MEASURED = frozenset(name for names in (*_CLASSES.values(), _ELSEWHERE.values()) for name in names)
"""Programs whose costs are asked for."""


def within_budget(limit_ns: int, costs: Costs, options: Iterable[str] = ()) -> ProgramSet:
    """The most complete set of which no more than ``limit_ns`` is expected per interruption, beside
    ``options`` as program_set() takes them; where none is as cheap as that, the cheapest.

    A larger budget never leaves out more. Raises NoisetopError where a cost is not known and no
    program that does the same work tells it.
    """
    asked = tuple(options)
    for count in range(len(STEPS) + 1):
        steps = STEPS[:count]
        left_out = program_set(asked, Budget(limit_ns, steps)).programs
        added = tuple(expected_ns(costs, left_out).items())
        chosen = program_set(asked, Budget(limit_ns, steps, added))
        if chosen.left_out.budget.most[1] <= limit_ns:
            break
    return chosen


def expected_ns(costs: Costs, left_out: Collection[str]) -> dict[str, float]:
    """What an interruption of each class gets longer by. Raises NoisetopError."""
    return {
        name: sum(_cost_ns(_here(one, costs), costs) for one in programs if one not in left_out)
        for name, programs in _CLASSES.items()
    }


def _here(name: str, costs: Costs) -> str:
    return name if name in costs else _ELSEWHERE.get(name, name)


def _cost_ns(name: str, costs: Costs) -> float:
    if name not in costs:
        return 0.0  # this kernel has no such tracepoint
    family = next((names for names in _ALIKE if name in names), ())
    for one in (name, *family):
        if (cost := costs.get(one)) is not None:
            return cost
    raise NoisetopError(f"what {name} takes cannot be measured, as other CPUs are too busy")
