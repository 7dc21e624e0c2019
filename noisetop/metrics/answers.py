"""What scrapes are answered with: text that is made once for each snapshot, whoever asks."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from noisetop.metrics.registry import Published

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

_MOST_FORMATS = 8
"""Answers that are kept of a snapshot: Prometheus asks for one format, and so does each other
program; what a header says is the asker's choice."""
_LEVEL = 1
"""Of compression: the next one takes three times as long for a tenth less."""
_GZIP = 16 + zlib.MAX_WBITS


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer, as WSGI has it."""

    status: str
    headers: list[tuple[str, str]]
    body: bytes


@dataclass(slots=True)
class Answers:
    """A WSGI application. How long it takes depends on the series, which are bounded, and of those
    who ask about one snapshot only the first one waits for its text."""

    published: Published
    _app: WSGIApplication = field(init=False)
    _version: int = -1
    _known: dict[tuple[str, str], Answer] = field(default_factory=dict)
    """By format and compression, of that version."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        from prometheus_client import make_wsgi_app

        self._app = make_wsgi_app(self.published.registry, disable_compression=True)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Part of WSGI."""
        found = self._answer(environ)
        start_response(found.status, found.headers)
        return [found.body]

    def _answer(self, environ: WSGIEnvironment) -> Answer:
        if environ["REQUEST_METHOD"] != "GET" or environ.get("QUERY_STRING"):
            return _asked(self._app, environ)
        compressed = "gzip" in environ.get("HTTP_ACCEPT_ENCODING", "")
        key = environ.get("HTTP_ACCEPT", ""), "gzip" if compressed else ""
        with self._lock:
            if self._version != self.published.version or len(self._known) >= _MOST_FORMATS:
                self._known.clear()
                self._version = self.published.version
            if key not in self._known:
                made = _asked(self._app, environ)
                self._known[key] = _compressed(made) if compressed else made
            return self._known[key]


def _asked(app: WSGIApplication, environ: WSGIEnvironment) -> Answer:
    """What an application answers."""
    told: list[tuple[str, list[tuple[str, str]]]] = []

    def start(status: str, headers: list[tuple[str, str]], *_: Any) -> Callable[[bytes], object]:
        told.append((status, headers))
        return lambda _: None

    body = b"".join(app(environ, start))
    [(status, headers)] = told
    return Answer(status, headers, body)


def _compressed(answer: Answer) -> Answer:
    packer = zlib.compressobj(_LEVEL, wbits=_GZIP)
    body = packer.compress(answer.body) + packer.flush()
    return Answer(answer.status, [*answer.headers, ("Content-Encoding", "gzip")], body)
