"""The command as a shell starts it, but in this process: of a new one, the imports take the time.

Tests keep a process of its own for each kind of end.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from noisetop.cli import main

PROGRAM = Path(sys.executable).with_name("noisetop")
_ABOVE = 100
"""Numbers of descriptors that no command asks for."""


@contextlib.contextmanager
def _kept(*descriptors: int) -> Iterator[None]:
    """What becomes of them meanwhile does not last."""
    saved = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _ABOVE) for fd in descriptors]
    try:
        yield
    finally:
        for fd, copy in zip(descriptors, saved, strict=True):
            os.dup2(copy, fd)
            os.close(copy)


def _redirect(number: int, target: int | str | None) -> None:
    """As a shell does: to a descriptor, to a file that exists, or closed."""
    if target is None:
        os.close(number)
        return
    if isinstance(target, int):
        os.dup2(target, number)
        return
    fd = os.open(target, os.O_RDONLY if number == 0 else os.O_WRONLY)
    os.dup2(fd, number)
    os.close(fd)


def _as_of_interpreter(
    monkeypatch: pytest.MonkeyPatch, closed: set[int], encoding: str | None
) -> None:
    """sys.stdin, sys.stdout and sys.stderr as a new interpreter makes them of the descriptors."""
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        stream = None
        if number not in closed:
            stream = open(number, mode, encoding=encoding or "utf-8", closefd=False)  # noqa: SIM115
        monkeypatch.setattr(sys, name, stream)
    monkeypatch.setattr(sys, "__stdin__", sys.stdin)


def run_in_process(
    *arguments: str | Path,
    stdin: str | None = os.devnull,
    stdout: int | str | None = "",
    stderr: str | None = "",
    encoding: str | None = None,
) -> subprocess.CompletedProcess[str]:
    """Runs main() with these arguments.

    The streams are a path, a descriptor or None for a closed one; what goes to stdout and stderr is
    read where they are not given. ``encoding``: of the streams.
    """
    with (
        pytest.MonkeyPatch.context() as monkeypatch,
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
    ):
        monkeypatch.setattr(sys, "argv", [str(PROGRAM), *map(str, arguments)])
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        files = [fcntl.fcntl(one.fileno(), fcntl.F_DUPFD_CLOEXEC, _ABOVE) for one in (out, err)]
        targets = (
            stdin,
            files[0] if stdout == "" else stdout,
            files[1] if stderr == "" else stderr,
        )
        with _kept(0, 1, 2):
            for number, target in enumerate(targets):
                _redirect(number, target)
            closed = {number for number, target in enumerate(targets) if target is None}
            _as_of_interpreter(monkeypatch, closed, encoding)
            with pytest.raises(SystemExit) as end:
                main()
            # The interpreter does so at its end, and complains where it fails.
            sys.stdout.flush()
            sys.stderr.flush()
        for fd in files:
            os.close(fd)
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode(errors="surrogateescape"))
    status = end.value.code
    assert isinstance(status, int)
    return subprocess.CompletedProcess([str(PROGRAM), *map(str, arguments)], status, *texts)
