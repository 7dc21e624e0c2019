"""Real programs that pay for a tracer. Each module here is one and declares ``WORKLOADS``."""

from __future__ import annotations

import importlib
import pkgutil
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from noisetop.errors import NoisetopError

_TIMEOUT_S = 60
_POLL_S = 0.02


@dataclass(frozen=True, slots=True)
class Work:
    """What a program did in one period."""

    per_second: float
    """Requests, or jobs."""
    p99_us: float | None = None
    """Of a request; None: it has none."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where it runs."""

    cpu: int
    """The program's own: the one that tracers watch."""
    other: int
    """For its clients."""
    folder: Path


@dataclass(frozen=True, slots=True)
class Workload:
    """A program with its clients."""

    name: str
    needs: tuple[str, ...]
    """Programs in PATH."""
    install: str
    """What to type where they are missing."""
    run: Callable[[Place], AbstractContextManager[Callable[[], Work]]]
    """Starts it; inside of it a call measures one period of about a second."""

    @property
    def missing(self) -> bool:
        """Whether one of the programs is not installed."""
        return not all(shutil.which(one) for one in self.needs)


def all_workloads() -> tuple[Workload, ...]:
    """Every workload, by name."""
    found: list[Workload] = []
    for module in pkgutil.iter_modules(__path__):
        found.extend(importlib.import_module(f"{__name__}.{module.name}").WORKLOADS)
    return tuple(sorted(found, key=lambda one: one.name))


def on_cpu(cpu: int, argv: Sequence[str | Path]) -> list[str]:
    """The command, bound to a CPU."""
    return ["taskset", "-c", str(cpu), *map(str, argv)]


def output_of(argv: Sequence[str]) -> str:
    """What a command printed. Raises NoisetopError when it failed."""
    done = subprocess.run(argv, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
    if done.returncode:
        raise NoisetopError(f"{argv[-1]} of the bench failed: {done.stderr.strip()}")
    return done.stdout


@contextmanager
def server(argv: Sequence[str], is_ready: Callable[[], bool]) -> Iterator[None]:
    """A process that serves until the end of the block. Raises NoisetopError when it does not."""
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + _TIMEOUT_S
        while not is_ready():
            if process.poll() is not None or time.monotonic() > deadline:
                raise NoisetopError(f"a server of the bench did not start: {' '.join(argv)}")
            time.sleep(_POLL_S)
        yield
    finally:
        process.terminate()
        process.wait(_TIMEOUT_S)
