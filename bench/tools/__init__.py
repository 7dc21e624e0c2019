"""The tools that are measured. Each module here is a family and lists its tools in ``TOOLS``."""

from __future__ import annotations

import importlib
import pkgutil
import shutil
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from bench.process import ToolProcess
from bench.tracepoints import Tracepoint


@dataclass(frozen=True, slots=True)
class Setting:
    """Where a run takes place."""

    cpu: int
    """The watched CPU."""
    housekeeping: int
    """The CPU that tools and the disturber run on."""
    folder: Path
    """For their files: in memory, so that no disk interrupts the watched CPU."""
    tracepoints: tuple[Tracepoint, ...]
    """What peers record."""
    everywhere: bool = False
    """Whether the housekeeping CPU is recorded as well."""
    buffer_kib: int | None = None
    """Memory for events on each CPU; None: what the tool takes by default."""

    keep: bool = False
    """Whether the file that a tool wrote stays in the folder."""

    @property
    def recorded(self) -> tuple[int, ...]:
        """The CPUs that tools record, in rising order."""
        both = sorted((self.cpu, self.housekeeping))
        return tuple(both) if self.everywhere else (self.cpu,)

    @property
    def cpu_list(self) -> str:
        """The same in the kernel's list format."""
        return ",".join(map(str, self.recorded))


@dataclass(frozen=True, slots=True)
class Seen:
    """What a tool says that it recorded in its whole run; lost is None where it does not tell."""

    events: int
    lost: int | None = None
    written_bytes: int | None = None
    """Size of its file; None: it wrote none."""


class Session(Protocol):
    """A tool that traces."""

    @property
    def process(self) -> ToolProcess:
        """Its process."""
        ...

    def seen(self) -> Seen:
        """What it recorded; only after it has stopped."""
        ...


class Tool(Protocol):
    """A tracer that can be measured."""

    @property
    def name(self) -> str:
        """What the tables call it."""
        ...

    @property
    def program(self) -> str:
        """The program that it needs."""
        ...

    @property
    def install(self) -> str:
        """What to type where that is missing."""
        ...

    @property
    def blind_to(self) -> frozenset[str]:
        """Kinds of load whose interruptions it cannot see."""
        ...

    @property
    def per_interruption(self) -> float:
        """Events that it records at least for each disturbance that it can see."""
        ...

    def run(self, setting: Setting) -> AbstractContextManager[Session]:
        """Traces from entering to leaving; ready when entered."""
        ...


def all_tools() -> tuple[Tool, ...]:
    """Every tool of every family, noisetop's own first."""
    tools: list[Tool] = []
    for module in sorted(pkgutil.iter_modules(__path__), key=lambda m: m.name):
        tools.extend(importlib.import_module(f"{__name__}.{module.name}").TOOLS)
    return tuple(sorted(tools, key=lambda tool: not is_ours(tool.name)))


def is_ours(name: str) -> bool:
    """Whether a tool is noisetop in one of its modes."""
    return name.startswith("noisetop")


def missing_tools(tools: tuple[Tool, ...]) -> dict[str, str]:
    """What to type to install each tool that is not here, by the tool's name."""
    return {tool.name: tool.install for tool in tools if not shutil.which(tool.program)}
