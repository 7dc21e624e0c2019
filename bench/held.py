"""Programs of tools that have ended, attached and detached at will.

A tool takes seconds to start, and machines change from one second to the next. Held programs are
attached in some 10 to 50 ms, so what is compared lies as close together, and the threads of the
tool are not in it. One build differs from itself by up to 20 ns from one start to the next, as its
programs and maps lie elsewhere: compare several starts.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from bench.c_program import Asked, compiled
from bench.process import ToolProcess
from bench.tools import Seen, Session, Setting, Tool
from bench.workloads import on_cpu
from noisetop.errors import NoisetopError

SOURCE = Path(__file__).with_name("held_programs.c")
ON, OFF = "on", "off"
_COUNT = np.dtype("=u8")


class Holdable(Tool, Protocol):
    """A tool whose programs can be held: all of them are on raw tracepoints."""

    @property
    def headers(self) -> Path:
        """Folder of the headers that its programs are built with: the layout of their maps."""
        ...


@dataclass(slots=True)
class HeldSession:
    """Programs that are attached; the process is that of the tool, which has ended."""

    process: ToolProcess
    records: int = 0

    def seen(self) -> Seen:
        """The records that they made while they were attached; 0 for empty ones."""
        return Seen(self.records)


@dataclass(frozen=True, slots=True)
class Held:
    """The programs of a tool, as a tool."""

    tool: Tool
    asked: Asked
    process: ToolProcess

    @property
    def name(self) -> str:
        """That of the tool."""
        return self.tool.name

    @property
    def program(self) -> str:
        """That of the tool."""
        return self.tool.program

    @property
    def install(self) -> str:
        """That of the tool."""
        return self.tool.install

    @property
    def blind_to(self) -> frozenset[str]:
        """Those of the tool."""
        return self.tool.blind_to

    @property
    def per_interruption(self) -> float:
        """As the tool records."""
        return self.tool.per_interruption

    def order(self, what: str) -> int:
        """Attaches (``ON``) or detaches (``OFF``); how many records there have been so far. Raises
        NoisetopError when they are no longer held."""
        self.asked.order(what)
        return _count(self.asked)

    @contextmanager
    def run(self, setting: Setting) -> Iterator[Session]:
        """Attached when entered. The setting is that with which they were started."""
        del setting
        session = HeldSession(self.process)
        before = self.order(ON)
        try:
            yield session
        finally:
            session.records = self.order(OFF) - before


@contextmanager
def held(tools: Sequence[Holdable], setting: Setting) -> Iterator[tuple[Held, ...]]:
    """Starts each tool in turn, takes its programs and lets it end; detached when entered. Raises
    NoisetopError."""
    with ExitStack() as stack:
        yield tuple(stack.enter_context(_held(tool, setting)) for tool in tools)


@contextmanager
def _held(tool: Holdable, setting: Setting) -> Iterator[Held]:
    options = f"-I{tool.headers}", "-lbpf"
    binary = compiled(SOURCE, setting.folder, f"{SOURCE.stem} of {tool.name}", options)
    with ExitStack() as stack:
        with tool.run(setting) as session:
            programs = programs_of(session.process.tool_pid())
            command = on_cpu(setting.housekeeping, [binary, *programs])
            asked = stack.enter_context(_running(command))
            if not programs or _count(asked) != len(programs):
                raise NoisetopError(f"{tool.name} has no programs that can be held")
        yield Held(tool, asked, session.process)


@contextmanager
def _running(command: Sequence[str]) -> Iterator[Asked]:
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        yield Asked(SOURCE.stem, process)
    finally:
        process.kill()
        process.communicate()


def programs_of(pid: int) -> list[str]:
    """The programs that a process has on raw tracepoints, each once, as ID:TRACEPOINT."""
    found = {}
    for path in Path(f"/proc/{pid}/fdinfo").iterdir():
        try:
            text = path.read_text()
        except FileNotFoundError:  # closed since
            continue
        lines = (line.partition(":") for line in text.splitlines())
        fields = {name: value.strip() for name, _, value in lines}
        if "tp_name" in fields and "prog_id" in fields:
            found[fields["prog_id"]] = fields["tp_name"]
    return [f"{number}:{tracepoint}" for number, tracepoint in found.items()]


def _count(asked: Asked) -> int:
    return int(np.frombuffer(asked.answer(_COUNT.itemsize), _COUNT)[0])
