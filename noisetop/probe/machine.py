"""What a probe needs from the machine before it starts: CPUs, a place for itself, load."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from noisetop.errors import UsageError
from noisetop.machine import affinity, system
from noisetop.probe.sampler import ANY_CPU, SpinProcess

_LOAD_NAME = "noisetop-load"
_NEVER = (1 << 63) - 1


def probe_cpus(text: str | None) -> tuple[int, ...]:
    """CPUs to spin on: those asked for, else the isolated ones, else the last that may be used."""
    if text:
        return system.cpus_from_list(text)
    allowed = os.sched_getaffinity(0)
    isolated = tuple(cpu for cpu in system.isolated_cpus() if cpu in allowed)
    return isolated or (max(allowed),)


def own_cpus(text: str | None, busy: tuple[int, ...]) -> tuple[int, ...]:
    """CPUs for the tool itself, perhaps none."""
    if text:
        return system.cpus_from_list(text)
    return affinity.choose(busy)


def check_load(count: int, busy: tuple[int, ...]) -> None:
    """Raises UsageError when there is no CPU for that many busy processes."""
    if count < 0:
        raise UsageError("--load takes a number of processes, 0 or more")
    if count and not affinity.choose(busy):
        raise UsageError("--load needs a CPU that is not probed: probe fewer with -c")


@contextmanager
def load(count: int) -> Iterator[None]:
    """Busy processes on the CPUs that this one is bound to; they end with it, however it ends."""
    with ExitStack() as stack:
        for _ in range(count):
            process = stack.enter_context(SpinProcess((ANY_CPU,), capacity=1, name=_LOAD_NAME))
            process.begin(1, _NEVER, _NEVER)
        yield
