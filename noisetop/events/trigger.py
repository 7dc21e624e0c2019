"""Who caused an interruption: joins what was sent, armed and queued with what ran later."""

from __future__ import annotations

from typing import NamedTuple

CLOCKS = ("tick", "timer wheel")
"""Contexts that are nobody's doing: the scheduler's tick, and its timer serving others while the
tick is stopped; who armed those is told with their functions."""
IDLE_LOOP = "the idle loop"
"""Context of what a CPU did while it ran no task."""


UserStacks = dict[tuple[int, int], tuple[str, ...]]
"""Functions of a program, innermost first, by tid and Trigger.user_stack."""


class Trigger(NamedTuple):
    """Who did it. Empty where it is not known."""

    task: str = ""
    """Name of the task, when it acted in its own context."""
    tid: int = 0
    cpu: int = -1
    """Where it was done, -1: not known."""
    context: str = ""
    """What that CPU was serving when it was no task's doing, or ``tick``."""
    work: str = ""
    """Where the task is a kworker: the function that it was executing."""
    origin: str = ""
    """And who had queued that."""
    stack: int = -1
    """Key of the kernel stack in the recording's stacks, -1: none."""
    began: str = ""
    """Where it was no task's doing: the class of the interrupt that it all began with. Or empty,
    and ``tid`` says whose softirq that CPU was serving, 0: not known."""
    user_stack: int = -1
    """Key, with ``tid``, of the user stack of the task in the recording's, -1: none."""

    @property
    def label(self) -> str:
        """The cause in one line; empty where it is not known."""
        if not self.task:
            where = f" on CPU {self.cpu}" if self.cpu >= 0 else ""
            return f"{self.context}{where}" if self.context else ""
        who = f"{self.task} {self.tid}"
        if self.work:
            who = f"{self.work} in {who}"
        return f"{who} ← {self.origin}" if self.origin else who
