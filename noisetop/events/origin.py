"""Whose doing an interruption was, seen from the thread that it delayed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from noisetop.events.interruption import FAULT, HARDWARE, Interruptions, Source
from noisetop.events.task_names import TaskNames
from noisetop.events.trigger import IDLE_LOOP, Trigger
from noisetop.tables.dictionary import DictionaryEncoder

_THREAD = "thread"
_KERNEL_SOFTIRQS = ("RCU", "SCHED", "HRTIMER")
"""Housekeeping of the kernel, in whoever's context it is raised."""
_OF_DEVICES = ("BLOCK", "IRQ_POLL")
_OF_SENDERS = ("NET_RX", "NET_TX")
_OF_CALLBACKS = ("HI", "TIMER", "TASKLET", "HRTIMER")
"""Whose own part is nothing: what they run is somebody's."""
_CARRIES_OUT_CALLS = "migration/"
"""Before it moves a task, this thread runs what other CPUs have queued on its own for an interrupt
(migration_cpu_stop() in kernel/sched/core.c), and so does the idle loop: what that raises is not
their doing."""
_LOCAL_TIMER = ("timer", "local_timer")
_LOCAL = "local"
_NO_CALLBACKS = frozenset({"cheap", "timers"})
"""As in counters.left_out: either leaves out the functions of timers and tasklets."""


class Origin(IntEnum):
    """``origin`` in a table of interruptions: whose doing each of them was."""

    UNATTRIBUTED = 0
    """Not known."""
    SELF = 1
    """The victim thread itself: softirqs that it raised, timers that it armed, page faults."""
    PROGRAM = 2
    """Other threads of its process."""
    OTHERS = 3
    """Other tasks."""
    KERNEL = 4
    """The kernel's own housekeeping."""
    DEVICE = 5
    OUTSIDE = 6
    """Hypervisor or firmware."""

    @property
    def label(self) -> str:
        """As it is shown and stored."""
        return self.name.lower()


ORIGINS = tuple(one.label for one in Origin)
"""Labels by value."""


@dataclass(slots=True)
class OriginJoin:
    """Finds the origin of each interruption. The lists and names grow while batches are read."""

    sources: Sequence[Source]
    triggers: Sequence[Trigger]
    names: TaskNames
    reduced: frozenset[str] = frozenset()
    """How the tracer was reduced, in the words of counters.left_out."""
    _encoder: DictionaryEncoder = field(default_factory=lambda: DictionaryEncoder(4))
    _named: int = -1
    """Version of the names that these were learned with."""
    _threads: npt.NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, bool))
    """By source: whether it is a thread."""

    def origins(self, table: Interruptions) -> npt.NDArray[np.uint8]:
        """The origin of each row, whose triggers are known by now."""
        if self._named != self.names.version:
            self._encoder = DictionaryEncoder(4)
            self._named = self.names.version
        fresh = [one.noise_class == _THREAD for one in self.sources[len(self._threads) :]]
        self._threads = np.append(self._threads, np.array(fresh, bool))
        ran = table["tid"] * self._threads.take(table["source"])
        sources, triggers, victims = table["source"], table["trigger"], table["victim_tid"]
        numbers = self._encoder.numbers(
            (sources, triggers, victims, ran),
            lambda row: self._origin(
                sources.item(row), triggers.item(row), victims.item(row), ran.item(row)
            ),
        )
        return numbers.astype(np.uint8)

    def _origin(self, source_number: int, trigger_number: int, victim: int, tid: int) -> Origin:
        source, trigger = self.sources[source_number], self.triggers[trigger_number]
        by_class = _BY_CLASS.get(source.noise_class)
        if by_class is not None:
            return by_class
        if source.noise_class == _THREAD:
            return self._of_thread(source, trigger, tid, victim)
        if source.noise_class == "softirq" and len(source.path) == 2:
            return self._of_softirq(source.path[1], trigger, victim)
        if source.path == _LOCAL_TIMER:
            if self.reduced & _NO_CALLBACKS:
                return Origin.UNATTRIBUTED  # whatever timers it ran, perhaps somebody's
            if trigger == Trigger():
                # Without armers: what it ran was armed by somebody, or it ran nothing.
                return Origin.UNATTRIBUTED if _LOCAL in self.reduced else Origin.KERNEL
        return self._of_trigger(trigger, victim)

    def _of_thread(self, source: Source, trigger: Trigger, tid: int, victim: int) -> Origin:
        if len(source.path) == 2 and not tid:
            return Origin.KERNEL  # throttled: the idle task runs
        about = self.names.infos.get(tid)
        if about is None:
            return Origin.PROGRAM if source.path[1] == "self" else Origin.UNATTRIBUTED
        if not about.kernel:  # of several victims that wait, it may be named itself
            return self._of_task(tid, victim) if tid != victim else Origin.OTHERS
        works_for_somebody = len(source.path) > 2 or source.path[1].startswith(_CARRIES_OUT_CALLS)
        if works_for_somebody and trigger.task:
            return self._of_trigger(trigger, victim)
        if works_for_somebody and _LOCAL in self.reduced:
            return Origin.UNATTRIBUTED  # who queued it was left out
        return Origin.KERNEL

    def _of_softirq(self, vector: str, trigger: Trigger, victim: int) -> Origin:
        if self.reduced & _NO_CALLBACKS and vector in _OF_CALLBACKS:
            return Origin.UNATTRIBUTED
        if vector in _KERNEL_SOFTIRQS:
            return Origin.KERNEL
        if (
            trigger.began == "ipi"
            or trigger.context == IDLE_LOOP
            or trigger.task.startswith(_CARRIES_OUT_CALLS)
        ):
            return (
                Origin.DEVICE
                if vector in _OF_DEVICES
                else Origin.OTHERS
                if vector in _OF_SENDERS
                else Origin.KERNEL
            )
        return self._of_trigger(trigger, victim)

    def _of_trigger(self, trigger: Trigger, victim: int) -> Origin:
        if trigger.origin:  # the task that queued what the sender worked on
            return self._of_task(int(trigger.origin.rpartition(" ")[2]), victim)
        if trigger.tid:
            return self._of_task(trigger.tid, victim)
        if trigger.began == "irq":
            return Origin.DEVICE
        return Origin.KERNEL if trigger.context else Origin.UNATTRIBUTED

    def _of_task(self, tid: int, victim: int) -> Origin:
        if tid == victim:
            return Origin.SELF
        about, delayed = self.names.infos.get(tid), self.names.infos.get(victim)
        if about is None:
            return Origin.UNATTRIBUTED
        if about.kernel:
            return Origin.KERNEL
        if delayed is not None and about.tgid == delayed.tgid:
            return Origin.PROGRAM
        return Origin.OTHERS


_BY_CLASS = {
    "irq": Origin.DEVICE,
    "nmi": Origin.KERNEL,
    HARDWARE: Origin.OUTSIDE,
    FAULT: Origin.SELF,
}
