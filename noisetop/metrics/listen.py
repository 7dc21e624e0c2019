"""The address that metrics are served on, and the server."""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from noisetop.errors import NoisetopError, UsageError

if TYPE_CHECKING:
    from noisetop.metrics.registry import Published

DEFAULT = "127.0.0.1:19976"
"""Outside of the range that Prometheus gives to exporters, as all of that is taken."""
_FORM = re.compile(r"(?:(?P<host>[^:\[\]]+|\[[0-9A-Fa-f:.]+\]):)?(?P<port>\d{1,5})")
_LARGEST_PORT = 65535


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen."""

    host: str
    port: int

    @property
    def url(self) -> str:
        """Of the metrics."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}/metrics"

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine reaches it."""
        return ipaddress.ip_address(self.host).is_loopback

    def check(self) -> None:
        """Raises NoisetopError where nothing can listen there."""
        try:
            [(family, kind, _, _, place), *_] = socket.getaddrinfo(
                self.host, self.port, type=socket.SOCK_STREAM
            )
            with socket.socket(family, kind) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(place)
        except OSError as error:
            raise self._refused(error) from None

    def _refused(self, error: OSError) -> NoisetopError:
        where = f"{self.host}:{self.port}"
        return NoisetopError(
            f"cannot listen on {where}: {error.strerror}: choose another one with --listen"
        )

    @contextmanager
    def serving(self, published: Published) -> Iterator[None]:
        """Answers during the block, on threads that run where this one may. Raises
        NoisetopError."""
        from noisetop.metrics.answers import Answers  # brings prometheus_client
        from noisetop.metrics.server import MetricsServer

        try:
            server = MetricsServer(self.host, self.port, Answers(published))
        except OSError as error:
            raise self._refused(error) from None
        with server.running():
            yield


def parse_address(text: str) -> Address:
    """Of ``--listen``: ``PORT`` on loopback, or ``ADDRESS:PORT``. Raises UsageError."""
    found = _FORM.fullmatch(text)
    if not found or not 0 < int(found["port"]) <= _LARGEST_PORT:
        raise UsageError(
            f"'{text}' is no address: --listen takes ADDRESS:PORT, as in {DEFAULT}, or "
            "0.0.0.0:PORT for all addresses"
        )
    host = (found["host"] or "127.0.0.1").strip("[]")
    if host == "localhost":
        host = "127.0.0.1"
    try:
        ipaddress.ip_address(host)
    except ValueError:
        raise UsageError(f"--listen takes a number, not the name {host}: see ip address") from None
    return Address(host, int(found["port"]))
