"""The commands of actions, started by a process that keeps the rights of who called."""

from __future__ import annotations

import json
import os
import signal
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from noisetop.errors import NoisetopError
from noisetop.flight_recorder.actions import Action, User, run_command

_MOST_BYTES = 1 << 18
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR2)
_STANDARD = (1, 2)


@dataclass(slots=True)
class CommandRunner:
    """A context manager. Its process starts these commands and does nothing else; it ends with this
    one, however that ends. Enter it before the process has threads or gives anything up."""

    commands: Sequence[Action]
    user: User
    _socket: socket.socket = field(init=False)
    _pid: int = 0

    def __enter__(self) -> Self:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._pid = os.fork()
        if not self._pid:
            self._socket.close()
            self._serve(theirs)
            os._exit(0)
        theirs.close()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._socket.close()
        os.waitpid(self._pid, 0)

    def run(self, action: Action, told: Mapping[str, str]) -> None:
        """Waits for its end; it writes where this process writes now. Raises NoisetopError where it
        does not succeed."""
        request = json.dumps([self.commands.index(action), dict(told)]).encode()
        try:
            socket.send_fds(self._socket, [request], _STANDARD)
            answer = self._socket.recv(_MOST_BYTES)
        except OSError as error:
            raise NoisetopError(f"cannot start a command: {error.strerror}") from None
        if not answer:
            raise NoisetopError("cannot start a command: the process that starts them was killed")
        if failure := json.loads(answer):
            raise NoisetopError(failure)

    def _serve(self, asked: socket.socket) -> None:
        """In the process of its own: until nobody can ask any more."""
        for number in _SIGNALS:
            # Ignoring them would be inherited by the commands.
            signal.signal(number, lambda *_: None)
        while True:
            request, standard, _, _ = socket.recv_fds(asked, _MOST_BYTES, len(_STANDARD))
            if not request:
                return
            for fd, ours in zip(standard, _STANDARD, strict=False):
                os.dup2(fd, ours)
                os.close(fd)
            answer = json.dumps(self._answer(request)).encode()
            try:
                asked.send(answer)
            except OSError:  # it ended meanwhile
                return

    def _answer(self, request: bytes) -> str:
        """Why it failed; empty: it succeeded."""
        number, told = json.loads(request)
        try:
            run_command(self.commands[number], told, self.user)
        except (NoisetopError, OSError) as error:
            return str(error)
        return ""
