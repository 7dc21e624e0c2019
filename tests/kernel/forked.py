"""noisetop as a process of its own that was forked with its modules: see fork_server.py.

tests.kernel.program starts it as users do.
"""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.kernel import program
from tests.kernel.fork_server import ForkedProgram

Done = subprocess.CompletedProcess[str]


def fork(
    *arguments: str | Path, cwd: Path | None = None, env: dict[str, str] | None = None
) -> ForkedProgram:
    """Starts it; its output can be read."""
    return ForkedProgram(
        [program.PROGRAM, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        env=env,
    )


def run(*arguments: str | Path, cwd: Path | None = None, env: dict[str, str] | None = None) -> Done:
    """Runs it to its end."""
    process = fork(*arguments, cwd=cwd, env=env)
    with program.ended_at_last(process):
        out, err = process.communicate(timeout=60 * program.SLOWER)
    return Done(process.args, process.returncode, out, err)


@contextlib.contextmanager
def started(*arguments: str | Path, until: str) -> Iterator[ForkedProgram]:
    """Starts it and waits until a line on stderr holds ``until``."""
    process = fork(*arguments)
    with program.ended_at_last(process):
        program.wait_for_line(process, until)
        yield process
