"""bcc's hardirqs and softirqs together: all that its tools offer on interruptions.

They see neither IPIs nor the local timer's interrupt, only device interrupts and softirqs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from bench.process import ToolProcess, running
from bench.tools import Seen, Session, Setting, Tool

_ROW = re.compile(r"^\S+ +(\d+)$", re.MULTILINE)
_READY = "Hit Ctrl-C"


def parse_rows(text: str) -> int:
    """Rows of their table."""
    return len(_ROW.findall(text))


@dataclass(slots=True)
class LibbpfSession:
    """Both at work."""

    process: ToolProcess
    other: ToolProcess

    def seen(self) -> Seen:
        """They do not count events when they time them, so: the rows that they printed."""
        return Seen(parse_rows(self.process.said()) + parse_rows(self.other.said()))


@dataclass(frozen=True, slots=True)
class HardirqsSoftirqs:
    """``hardirqs`` and ``softirqs``."""

    name: str = "hardirqs + softirqs"
    program: str = "hardirqs"
    install: str = "apt install libbpf-tools"
    blind_to: frozenset[str] = frozenset({"ipi", "timer", "pipe"})
    per_interruption: float = 0.0

    @contextmanager
    def run(self, setting: Setting) -> Iterator[Session]:
        """Line by line, as they say when they are ready."""
        cpu, folder = setting.housekeeping, setting.folder
        with (
            running(["stdbuf", "-oL", "hardirqs"], cpu, folder, "hardirqs") as hard,
            running(["stdbuf", "-oL", "softirqs"], cpu, folder, "softirqs") as soft,
        ):
            hard.wait_until(lambda: _READY in hard.said())
            soft.wait_until(lambda: _READY in soft.said())
            yield LibbpfSession(hard, soft)


TOOLS: tuple[Tool, ...] = (HardirqsSoftirqs(),)
