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


_UNATTRIBUTED, _SELF, _PROGRAM, _OTHERS, _KERNEL, _DEVICE, _OUTSIDE = Origin
"""Python 3.11 looks for a member of an enum in its class, which takes long where there are many."""
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
                return _UNATTRIBUTED  # whatever timers it ran, perhaps somebody's
            if trigger == Trigger():
                # Without armers: what it ran was armed by somebody, or it ran nothing.
                return _UNATTRIBUTED if _LOCAL in self.reduced else _KERNEL
        return self._of_trigger(trigger, victim)

    def _of_thread(self, source: Source, trigger: Trigger, tid: int, victim: int) -> Origin:
        if len(source.path) == 2 and not tid:
            return _KERNEL  # throttled: the idle task runs
        about = self.names.infos.get(tid)
        if about is None and victim:
            return _PROGRAM if source.path[1] == "self" else _UNATTRIBUTED
        # On an idle CPU only threads of the kernel are told, and long before what they are: see
        # thread_enter() in bpf/thread.bpf.c.
        if about and not about.kernel:  # of several victims that wait, it may be named itself
            return self._of_task(tid, victim) if tid != victim else _OTHERS
        works_for_somebody = len(source.path) > 2 or source.path[1].startswith(_CARRIES_OUT_CALLS)
        if works_for_somebody and trigger.task:
            return self._of_trigger(trigger, victim)
        if works_for_somebody and _LOCAL in self.reduced:
            return _UNATTRIBUTED  # who queued it was left out
        return _KERNEL

    def _of_softirq(self, vector: str, trigger: Trigger, victim: int) -> Origin:
        if self.reduced & _NO_CALLBACKS and vector in _OF_CALLBACKS:
            return _UNATTRIBUTED
        if vector in _KERNEL_SOFTIRQS:
            return _KERNEL
        if (
            trigger.began == "ipi"
            or trigger.context == IDLE_LOOP
            or trigger.task.startswith(_CARRIES_OUT_CALLS)
        ):
            return (
                _DEVICE if vector in _OF_DEVICES else _OTHERS if vector in _OF_SENDERS else _KERNEL
            )
        return self._of_trigger(trigger, victim)

    def _of_trigger(self, trigger: Trigger, victim: int) -> Origin:
        if trigger.origin:  # the task that queued what the sender worked on
            return self._of_task(int(trigger.origin.rpartition(" ")[2]), victim)
        if trigger.tid:
            return self._of_task(trigger.tid, victim)
        if trigger.began == "irq":
            return _DEVICE
        return _KERNEL if trigger.context else _UNATTRIBUTED

    def _of_task(self, tid: int, victim: int) -> Origin:
        if tid == victim:
            return _SELF
        about, delayed = self.names.infos.get(tid), self.names.infos.get(victim)
        if about is None:
            return _UNATTRIBUTED
        if about.kernel:
            return _KERNEL
        if delayed is not None and about.tgid == delayed.tgid:
            return _PROGRAM
        return _OTHERS


_BY_CLASS = {
    "irq": _DEVICE,
    "nmi": _KERNEL,
    HARDWARE: _OUTSIDE,
    FAULT: _SELF,
}
