"""``record --daemon``: goes on in the background, with a PID file and a log beside the output."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from noisetop.errors import NoisetopError, UsageError
from noisetop.session.notice import notice
from noisetop.tracing.capabilities import FILES, raised

_STARTED = b"started"
_MODE = 0o600


@dataclass(slots=True)
class Daemon:
    """The process that goes on. Call detach(), and close() at the end."""

    pid_file: Path
    log_file: Path
    _caller_fd: int

    def detach(self) -> None:
        """What is said from now on goes to the log; who called gets its prompt back. Raises
        NoisetopError."""
        try:
            with raised(FILES):
                log_fd = os.open(self.log_file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, _MODE)
                self.pid_file.write_text(f"{os.getpid()}\n")
        except OSError as error:
            raise NoisetopError(f"cannot write {error.filename}: {error.strerror}") from None
        os.setsid()
        null_fd = os.open(os.devnull, os.O_RDONLY)
        for fd, ours in ((0, null_fd), (1, log_fd), (2, log_fd)):
            os.dup2(ours, fd)
        os.close(null_fd)
        os.close(log_fd)
        os.write(self._caller_fd, _STARTED)
        os.close(self._caller_fd)
        self._caller_fd = -1

    def close(self) -> None:
        """Removes the PID file."""
        if self._caller_fd < 0:
            with raised(FILES):
                self.pid_file.unlink(missing_ok=True)


@contextmanager
def in_background(output: Path, *, wanted: bool) -> Iterator[Callable[[], None]]:
    """The block runs in a process of its own where that is wanted. Yields what to call when all has
    started. Raises UsageError where another one writes the same output."""
    if not wanted:
        yield lambda: None
        return
    daemon = _fork(output)
    try:
        yield daemon.detach
    finally:
        daemon.close()


def _fork(output: Path) -> Daemon:
    """Returns in the new process. The one that called ends when that has started, or with its exit
    status."""
    beside = output.parent / output.name
    pid_file, log_file = (beside.with_name(f"{beside.name}.{end}") for end in ("pid", "log"))
    if other := _running(pid_file):
        raise UsageError(f"PID {other} records there already: kill {other}, or choose another -o")
    read_fd, write_fd = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if not pid:
        os.close(read_fd)
        return Daemon(pid_file, log_file, write_fd)
    os.close(write_fd)
    started = os.read(read_fd, len(_STARTED)) == _STARTED
    if started:
        notice(f"PID {pid} records in the background, {log_file} is its log: kill {pid} ends it")
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def _running(pid_file: Path) -> int:
    """The process that a PID file names; 0: it has ended, or there is no file."""
    with suppress(FileNotFoundError, ValueError, ProcessLookupError):
        pid = int(pid_file.read_text())
        os.kill(pid, 0)
        return pid
    return 0
