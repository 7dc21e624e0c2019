"""Starts noisetop from a process that has imported it, and read the kernel's symbols, already: that
takes a third of a short run.

What is started is a process like one that a shell starts: a child of the tests, with their folder,
environment, CPUs and priority of that moment. What is tested of privileges, namespaces and
terminals, and of signals that come early, takes a program that is executed.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import functools
import gc
import importlib
import os
import pickle
import pkgutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

from noisetop.events.symbols import read_kallsyms
from noisetop.tracing import tracer

SAMPLE_S = 0.02
"""For which what a record costs is sampled, where nobody asks for that figure."""
_LONGEST = 1 << 20
"""Of a request, in bytes."""
_PR_SET_CHILD_SUBREAPER = 36  # include/uapi/linux/prctl.h
_LATER = (
    *("checks", "columns", "commands", "counters", "diagnosis"),
    *("exporters", "live", "live_outputs", "summary"),
)
"""Packages of which the program imports what it needs when it knows that."""

_ONE_AT_A_TIME = threading.Lock()
"""Whose orphans are adopted is a matter of the whole process."""


class _Request(NamedTuple):
    argv: list[str]
    cwd: str
    env: dict[str, str]
    cpus: set[int]
    nice: int


class ForkedProgram(subprocess.Popen[str]):
    """As subprocess.Popen, with noisetop's path and arguments. It takes a folder, an environment
    and standard streams that are open."""

    def _execute_child(self, *given: Any) -> None:
        """In place of fork() and exec(): the arguments are those of Python 3.11 to 3.14."""
        argv, cwd, env, ends = given[0], given[5], given[6], given[10:16]
        request = _Request(
            [str(one) for one in argv],
            str(cwd or Path.cwd()),
            dict(os.environ if env is None else env),
            os.sched_getaffinity(0),
            os.getpriority(os.PRIO_PROCESS, 0),
        )
        # stdin, stdout and stderr; -1: as here.
        descriptors = [
            number if end == -1 else end for number, end in enumerate((ends[0], ends[3], ends[5]))
        ]
        with _ONE_AT_A_TIME:
            self.pid = _server().start(request, descriptors)
        self._child_created = True
        self._close_pipe_fds(*ends)  # type: ignore[attr-defined]


class _Server:
    """The process that forks, as who asks it sees it."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", __file__, f"{theirs.fileno()}"],
                pass_fds=[theirs.fileno()],
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
            )

    def start(self, request: _Request, descriptors: list[int]) -> int:
        """PID of a child of this process."""
        with _adopted_orphans():
            socket.send_fds(self._socket, [pickle.dumps(request)], descriptors)
            pid = self._socket.recv(16)
            assert pid, f"the server ended with {self._process.wait()}"
            self._socket.recv(16)  # it is an orphan now
        return int(pid)

    def close(self) -> None:
        self._socket.close()
        self._process.wait()


@functools.cache
def _server() -> _Server:
    server = _Server()
    atexit.register(server.close)
    return server


@contextlib.contextmanager
def _adopted_orphans() -> Iterator[None]:
    """Descendants whose parent ends meanwhile are children of this process."""
    prctl = ctypes.CDLL(None).prctl
    assert prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
    try:
        yield
    finally:
        prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def _import_all() -> None:
    for name in _LATER:
        package = importlib.import_module(f"noisetop.{name}")
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)


def _shorten_starts() -> None:
    """The symbols of the kernel are the same for all: to read them takes a fifth of attaching."""
    mock.patch.object(tracer, "read_kallsyms", return_value=read_kallsyms()).start()
    mock.patch.object(tracer, "_SAMPLE_S", SAMPLE_S).start()


def _serve(connection: socket.socket) -> None:
    """Returns in each process that it forks; ends with who asks."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        message, descriptors, _, _ = socket.recv_fds(connection, _LONGEST, 3)
        if not message:
            os._exit(0)
        between = os.fork()
        if not between:
            if pid := os.fork():
                connection.send(b"%d" % pid)
                os._exit(0)
            connection.close()
            _become(pickle.loads(message), descriptors)
            return
        for one in descriptors:
            os.close(one)
        os.waitpid(between, 0)
        connection.send(b"orphan")


def _become(request: _Request, descriptors: list[int]) -> None:
    """What the kernel and a new interpreter would make of this process."""
    os.chdir(request.cwd)
    os.environ.clear()
    os.environ.update(request.env)
    os.sched_setaffinity(0, request.cpus)
    os.setpriority(os.PRIO_PROCESS, 0, request.nice)
    for number, fd in enumerate(descriptors):
        os.dup2(fd, number)
        os.close(fd)
    Path("/proc/self/comm").write_text(Path(request.argv[0]).name)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # as noisetop/__main__.py leaves it
    sys.argv = request.argv
    sys.stdin, sys.stdout, sys.stderr = (
        open(number, mode, closefd=False)  # noqa: SIM115
        for number, mode in enumerate("rww")
    )


if __name__ == "__main__":
    from noisetop.cli import main

    _import_all()
    _shorten_starts()
    gc.freeze()  # else each child would look at all of it when it ends
    _serve(socket.socket(fileno=int(sys.argv[1])))
    main()
