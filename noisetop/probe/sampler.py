"""The spinning process. Beside the tracer the only importer of the native module."""

from __future__ import annotations

import errno
import hashlib
import mmap
import os
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntFlag
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from noisetop import _native
from noisetop.errors import NoisetopError
from noisetop.probe.priority import Priority

NAME = "noisetop-spin"
ANY_CPU = -1
_READY_TIMEOUT_S = 30.0
_POLL_S = 0.002
_TRIES = 32
_AT_ONCE = 1024


class ClockPair(NamedTuple):
    """A moment on CLOCK_MONOTONIC that lies between two readings of the counter."""

    before_ticks: int
    ns: int
    after_ticks: int


def clock_pair() -> ClockPair:
    """The tightest of a few pairs, read here and now."""
    return ClockPair(*_native.clock_pair(_TRIES))


def native_digest() -> str:
    """Tells builds of the native module apart, and with them the programs that trace."""
    return hashlib.sha256(Path(_native.__file__).read_bytes()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Usage:
    """What the kernel counted for the spinning thread while it spun."""

    voluntary_switches: int
    involuntary_switches: int
    minor_faults: int
    major_faults: int
    cpu_ns: int
    """Without steal, where the kernel knows of it."""
    run_delay_ns: int
    """Runnable but not running."""


@dataclass(frozen=True, slots=True)
class RawSpin:
    """What one thread wrote down, in ticks of the counter."""

    cpu: int
    tid: int
    threshold_ticks: int
    loop_ticks: int
    """Smallest common distance of two readings."""
    resolution_ticks: int
    """What every reading is a multiple of."""
    began: ClockPair
    """Read on the spinning CPU right before the loop."""
    ended: ClockPair
    first_ticks: int
    last_ticks: int
    active_ticks: int
    """Without the sleeps of a duty cycle."""
    loops: int
    sleeps: int
    unstored_count: int
    """Gaps that found no room in memory; their time is in ``unstored_ticks``."""
    unstored_ticks: int
    usage: Usage
    starts: npt.NDArray[np.int64] = field(repr=False)
    ends: npt.NDArray[np.int64] = field(repr=False)


class Disturb(IntFlag):
    """How a spinning thread is interrupted on purpose: noisetop/native/probe/disturb.h."""

    TIMER = _native.DISTURB_TIMER
    SLEEP = _native.DISTURB_SLEEP
    TIMEOUT = _native.DISTURB_TIMEOUT
    CALL = _native.DISTURB_CALL
    WAKE = _native.DISTURB_WAKE
    FAULT = _native.DISTURB_FAULT


UNDISTURBED = Disturb(0)
FROM_OTHERS = Disturb.CALL | Disturb.WAKE
"""What takes a second CPU."""


@dataclass(slots=True)
class SpinProcess:
    """A context manager: a process with one spinning thread for each CPU, ready to begin.

    Raises NoisetopError when a thread cannot be bound, gets no priority, or memory is short.
    """

    cpus: Sequence[int]
    """CPU of each thread; ANY_CPU leaves it to the scheduler."""
    priority: Priority | None = None
    fenced: bool = False
    capacity: int = 1 << 16
    """Gaps that each thread can store."""
    group: int = 0
    """Process group to join; 0: one of its own."""
    name: str = NAME
    disturb: Disturb = UNDISTURBED
    """What interrupts the first thread, which is bound to a CPU, between slices of its loop."""
    sender_cpu: int = 0
    """Where FROM_OTHERS comes from."""
    send_ns: int = 150_000
    """From one call, or wake-up, to the next of the other kind."""
    timer_ns: int = 60_000
    """From the beginning of a slice to the end of the timer, at least: later than the thread is
    back to spinning."""
    pid: int = 0
    _memories: list[mmap.mmap] = field(default_factory=list)
    _reaped: bool = False

    def __enter__(self) -> Self:
        size = _native.SPIN_HEAD_BYTES + self.capacity * _native.SPIN_GAP_BYTES
        try:
            self._memories = [mmap.mmap(-1, size) for _ in self.cpus]
            self.pid = _native.spin_start(
                [*map(self._thread, self._memories, self.cpus)],
                self.group,
                self.disturb,
                self.sender_cpu,
                self.send_ns,
                self.timer_ns,
            )
        except OSError as error:
            self.close()
            raise NoisetopError(f"cannot start the spinning process: {error.strerror}") from None
        try:
            self._await_ready()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _thread(self, memory: mmap.mmap, cpu: int) -> _native.SpinThread:
        wanted = self.priority
        if wanted is None:
            return memory, cpu, self.fenced, self.name, -1, 0, 0, 0, 0
        return (
            memory,
            cpu,
            self.fenced,
            self.name,
            wanted.policy,
            wanted.nice,
            wanted.level,
            wanted.runtime_ns,
            wanted.period_ns,
        )

    def _await_ready(self) -> None:
        deadline = time.monotonic() + _READY_TIMEOUT_S
        while time.monotonic() < deadline:
            ended = self.ended()  # before the states: a thread that fails says why, then ends
            states = self._states()
            for state, cpu in zip(states, self.cpus, strict=True):
                if state["state"] == "failed":
                    raise self._explain(str(state["step"]), int(state["error"]), cpu)
            if all(state["state"] == "ready" for state in states):
                return
            if ended:
                break
            time.sleep(_POLL_S)
        raise NoisetopError("the spinning process did not get ready: is its CPU taken entirely?")

    def _explain(self, step: str, code: int, cpu: int) -> NoisetopError:
        if step == "bind":
            return NoisetopError(f"not allowed to run on CPU {cpu}: see taskset -p $$")
        if step == "priority" and code == errno.EPERM:
            return NoisetopError(
                f"no permission for priority {self.priority}: run as root, or raise ulimit -r"
            )
        if step == "priority" and code == errno.EBUSY:
            return NoisetopError(f"the kernel has no room for priority {self.priority}")
        if step == "disturb":
            return NoisetopError(f"cannot interrupt CPU {cpu} on purpose: {os.strerror(code)}")
        if step == "counter":
            return NoisetopError(f"the counter of CPU {cpu} is too slow to measure with")
        return NoisetopError(f"cannot start spinning ({step}): {os.strerror(code)}")

    def _states(self) -> list[dict[str, Any]]:
        return [_native.spin_state(memory) for memory in self._memories]

    @property
    def tids(self) -> tuple[int, ...]:
        """Thread of each CPU."""
        return tuple(int(state["tid"]) for state in self._states())

    @property
    def loop_ticks(self) -> int:
        """Smallest distance of two readings on the slowest of the CPUs."""
        return max(int(state["loop_ticks"]) for state in self._states())

    @property
    def resolution_ticks(self) -> int:
        """What every reading is a multiple of."""
        return max(int(state["resolution_ticks"]) for state in self._states())

    def begin(
        self,
        begin_ticks: int,
        end_ticks: int,
        threshold_ticks: int,
        long_ticks: int = 0,
        busy_ticks: int = 0,
        sleep_ns: int = 0,
    ) -> None:
        """Starts all loops at one moment.

        Gaps from ``long_ticks`` on find room even after many shorter ones. ``busy_ticks`` 0: the
        threads never sleep.
        """
        timing = (begin_ticks, end_ticks, threshold_ticks, long_ticks, busy_ticks, sleep_ns)
        for memory in self._memories:
            _native.spin_set(memory, *timing)

    def stop(self) -> None:
        """Ends the loops now."""
        for memory in self._memories:
            _native.spin_stop(memory)

    def done(self) -> bool:
        """Whether all loops have ended. Raises NoisetopError when the process was killed."""
        ended = self.ended()  # before the states: the last one that is done ends the process
        if all(state["state"] == "done" for state in self._states()):
            return True
        if ended:
            raise NoisetopError("the spinning process was killed before it had finished")
        return False

    def ended(self) -> bool:
        """Whether the process is gone."""
        if not self._reaped:
            self._reaped = os.waitpid(self.pid, os.WNOHANG)[0] == self.pid
        return self._reaped

    def gaps_so_far(self, number: int, since: int) -> npt.NDArray[np.int64]:
        """Gaps of one thread while it spins, from number ``since`` on, at most 1024: shape (gaps,
        2), start and end in ticks."""
        first = _native.SPIN_HEAD_BYTES + since * _native.SPIN_GAP_BYTES
        written = self._memories[number][first : first + _AT_ONCE * _native.SPIN_GAP_BYTES]
        gaps = np.frombuffer(written, "<i8").reshape(-1, 2)
        # The memory was zero: the thread writes one behind the other, start and end.
        whole = np.append((gaps != 0).all(axis=1), False)
        found: npt.NDArray[np.int64] = gaps[: int(whole.argmin())]
        return found

    def results(self) -> list[RawSpin]:
        """What the threads found, in the order of the CPUs; call it when done."""
        return [self._result(*pair) for pair in zip(self._memories, self.cpus, strict=True)]

    def _result(self, memory: mmap.mmap, cpu: int) -> RawSpin:
        state = _native.spin_state(memory)
        gaps = np.frombuffer(_native.spin_gaps(memory), "<i8").reshape(-1, 2)
        keys = (
            "tid",
            "threshold_ticks",
            "loop_ticks",
            "resolution_ticks",
            "first_ticks",
            "last_ticks",
        )
        more = ("active_ticks", "loops", "sleeps", "unstored_count", "unstored_ticks")
        return RawSpin(
            cpu=cpu,
            began=ClockPair(*state["began"]),
            ended=ClockPair(*state["ended"]),
            usage=Usage(**{key: int(state[key]) for key in Usage.__slots__}),
            starts=gaps[:, 0].copy(),
            ends=gaps[:, 1].copy(),
            **{key: int(state[key]) for key in (*keys, *more)},
        )

    def close(self) -> None:
        """Ends the process if it has not ended, and gives the memory back."""
        if self.pid and not self._reaped:
            if not self.ended():
                os.kill(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
            self._reaped = True
        for memory in self._memories:
            memory.close()
        self._memories = []


@dataclass(frozen=True, slots=True)
class MemoryTimes:
    """Times of one CPU with memory on one node; see noisetop/native/probe/numa.h."""

    array_bytes: int
    copy: list[int]
    """ns for one pass over the arrays; likewise scale, add and triad."""
    scale: list[int]
    add: list[int]
    triad: list[int]
    access: list[float]
    """ns for one dependent load."""


def measure_memory(cpu: int, node: int, array_bytes: int, repeats: int) -> MemoryTimes:
    """Runs the kernels on ``cpu`` with memory bound to ``node`` (-1: not bound)."""
    try:
        return MemoryTimes(**_native.numa_measure(cpu, node, array_bytes, repeats))
    except OSError as error:
        reason = os.strerror(error.errno or 0)
        raise NoisetopError(
            f"cannot measure CPU {cpu} with memory of node {max(node, 0)}: "
            f"{error.strerror}: {reason}"
        ) from None
