"""The server of the metrics: few threads at once, and none that an idle client keeps."""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from socketserver import TCPServer, ThreadingMixIn
from typing import TYPE_CHECKING, Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

if TYPE_CHECKING:
    from wsgiref.types import WSGIApplication

_PATIENCE_S = 10
"""For a client that does not ask or does not read."""
_MOST_AT_ONCE = 16
_SWITCH_S = 0.0005
"""A scrape gets the interpreter as soon as that while records are read; default: 5 ms, for each of
the several times that it waits."""


class _Handler(WSGIRequestHandler):
    timeout = _PATIENCE_S
    disable_nagle_algorithm = True
    wbufsize = 1 << 20
    """Headers and text leave together."""

    def log_message(self, format: str, *_: Any) -> None:
        """Who asks is nothing to tell."""


class MetricsServer(ThreadingMixIn, WSGIServer):
    """Answers with a WSGI application. Raises OSError where it cannot listen."""

    daemon_threads = True

    def __init__(self, host: str, port: int, application: WSGIApplication) -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._host = host
        self._free = threading.Semaphore(_MOST_AT_ONCE)
        super().__init__((host, port), _Handler)
        self.set_app(application)

    def server_bind(self) -> None:
        """Without the name of the host, which others would have to be asked for."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = self._host, self.server_address[1]
        self.setup_environ()

    def process_request(self, request: Any, client_address: Any) -> None:
        """On a thread of its own; who comes when there are too many is sent away."""
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """The thread."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away or kept us waiting is no error of ours."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Answers during the block."""
        thread = threading.Thread(target=self.serve_forever, daemon=True)
        before_s = sys.getswitchinterval()
        sys.setswitchinterval(_SWITCH_S)
        thread.start()
        try:
            yield
        finally:
            self.shutdown()
            self.server_close()
            thread.join()
            sys.setswitchinterval(before_s)
