"""The command after ``--``: started, but held back until the tracer is ready."""

from __future__ import annotations

import errno
import os
import select
import signal
from dataclasses import dataclass

from noisetop.errors import NoisetopError
from noisetop.session.caller import Caller
from noisetop.tracing.capabilities import SIGNALS, raised

_NOT_FOUND, _NOT_RUN = 127, 126
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_IGNORED = (signal.SIGPIPE, signal.SIGXFSZ)
"""The interpreter ignores these, and a command would go on to: subprocess's restore_signals."""
_SIGNAL_BASE = 128  # what shells add to the number of the signal that ended a command


class CannotRunError(NoisetopError):
    """The command cannot be run; the exit status is that of a shell."""

    def __init__(self, name: str, number: int) -> None:
        super().__init__(f"cannot run {name}: {os.strerror(number)}")
        self.exit_code = _NOT_FOUND if number == errno.ENOENT else _NOT_RUN


@dataclass(slots=True)
class Workload:
    """A child process that waits for release() before it becomes the command."""

    argv: list[str]
    pid: int = 0
    _gate: int = -1
    _failure: int = -1
    _status: int | None = None

    @classmethod
    def prepare(
        cls, argv: list[str], output_fd: int = -1, caller: Caller | None = None
    ) -> Workload:
        """Forks; with ``output_fd`` what the command writes goes there, with ``caller`` it runs as
        that user.

        Call it before the process binds itself to housekeeping CPUs and before it has threads: the
        command inherits what this process has now.
        """
        gate_read, gate_write = os.pipe2(os.O_CLOEXEC)
        failure_read, failure_write = os.pipe2(os.O_CLOEXEC)
        pid = os.fork()
        if pid == 0:
            _wait_in_child(gate_read, gate_write, output_fd)
            _become(argv, failure_write, caller)
        os.close(gate_read)
        os.close(failure_write)
        return cls(argv, pid, gate_write, failure_read)

    def release(self) -> None:
        """Lets the command start. Raises NoisetopError when it cannot be run."""
        os.write(self._gate, b"x")
        os.close(self._gate)
        self._gate = -1
        if failure := os.read(self._failure, 16):
            self.wait()
            raise CannotRunError(self.argv[0], int(failure))

    def wait(self) -> int:
        """Waits for its end; the exit status as a shell reports it."""
        if self._status is None:
            _, status = os.waitpid(self.pid, 0)
            code = os.waitstatus_to_exitcode(status)
            self._status = code if code >= 0 else _SIGNAL_BASE - code
        return self._status

    def ends_within(self, seconds: float) -> bool:
        """Whether it ends by then."""
        if self._status is None:
            ended = os.pidfd_open(self.pid)
            try:
                return bool(select.select([ended], [], [], seconds)[0])
            finally:
                os.close(ended)
        return True

    def terminate(self) -> None:
        """Ends it when it has not ended by itself."""
        if self._status is None:
            with raised(SIGNALS):
                os.kill(self.pid, signal.SIGTERM)

    def close(self) -> None:
        """A command that was never released ends without having run."""
        if self._gate >= 0:
            os.close(self._gate)
            self._gate = -1
            self.wait()
        os.close(self._failure)


def _wait_in_child(gate: int, gate_write: int, output_fd: int) -> None:
    """Until the gate opens; does not return where it is closed."""
    for number in _ENDING:  # the handlers are those of the program that it was forked from
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    for number in _IGNORED:
        signal.signal(number, signal.SIG_DFL)
    os.close(gate_write)
    if output_fd >= 0:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(output_fd, 1)
        os.dup2(output_fd, 2)
    signal.pthread_sigmask(signal.SIG_SETMASK, set())
    if not os.read(gate, 1):
        os._exit(0)


def _become(argv: list[str], failure: int, caller: Caller | None) -> None:
    """In the child: runs the command. Does not return."""
    environment = dict(os.environ)
    try:
        if caller:
            caller.become()
            environment = caller.environment(environment)
        os.execvpe(argv[0], argv, environment)
    except OSError as error:
        os.write(failure, str(error.errno).encode())
    os._exit(_NOT_RUN)
