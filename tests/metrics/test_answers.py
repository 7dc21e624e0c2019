"""What scrapers get over HTTP: the same, once made, in the format that they ask for."""

from __future__ import annotations

import gzip
import http.client
import socket
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from unittest.mock import patch

import pytest
from prometheus_client import generate_latest

from noisetop.metrics import answers
from noisetop.metrics.listen import Address
from noisetop.metrics.registry import Published
from noisetop.metrics.run import Exported
from tests.live.made_up_tracer import MadeUpTracer
from tests.metrics.made_up import exported, published
from tests.metrics.prometheus import free_port

OPENMETRICS = "application/openmetrics-text;version=1.0.0"
Served = tuple[Exported, Published, Address]


@pytest.fixture
def served() -> Iterator[Served]:
    """An exporter that has traced a second, what it published, and where."""
    one = exported(MadeUpTracer(5))
    one.next()
    found, address = published(one), Address("127.0.0.1", free_port())
    with address.serving(found):
        yield one, found, address


def asked(address: Address, query: str = "", **headers: str) -> tuple[str, bytes, str]:
    """Content type, body and encoding."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    request = urllib.request.Request(f"{address.url}{query}", headers=named)
    with urllib.request.urlopen(request, timeout=10) as answer:
        told = answer.headers
        return told["Content-Type"], answer.read(), told["Content-Encoding"] or ""


def test_an_answer_is_what_the_library_writes(served: Served) -> None:
    _, found, address = served
    kind, body, encoding = asked(address)
    assert (body, encoding) == (generate_latest(found.registry), "")
    assert kind.startswith("text/plain")
    _, packed, encoding = asked(address, Accept_Encoding="gzip")
    assert (gzip.decompress(packed), encoding) == (body, "gzip")
    kind, body, _ = asked(address, Accept=OPENMETRICS)
    assert kind.startswith("application/openmetrics-text")
    assert body.endswith(b"# EOF\n")
    assert asked(address, "?any=thing")[1] == generate_latest(found.registry)


def test_scrapers_of_one_period_cost_one_text(served: Served) -> None:
    one, found, address = served
    with patch.object(answers, "_asked", wraps=answers._asked) as made:
        bodies = {asked(address)[1] for _ in range(5)}
        assert (len(bodies), made.call_count) == (1, 1)
        one.next()
        found.publish(one.totals.snapshot())
        after = {asked(address)[1] for _ in range(5)}
        assert (len(after), made.call_count) == (1, 2)
    assert after != bodies


def test_formats_that_are_kept_are_bounded(served: Served) -> None:
    found = served[1]
    app = answers.Answers(found)
    for number in range(50):
        environ = {"REQUEST_METHOD": "GET", "PATH_INFO": "/metrics", "HTTP_ACCEPT": f"a/{number}"}
        app(environ, lambda *_: lambda _: None)
    assert len(app._known) <= answers._MOST_FORMATS


def test_other_methods_are_refused(served: Served) -> None:
    address = served[2]
    connection = http.client.HTTPConnection(address.host, address.port, timeout=10)
    connection.request("POST", "/metrics", body=b"")
    assert connection.getresponse().status == 405
    connection.close()


def test_idle_clients_keep_nobody_out(
    served: Served, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """So many that no thread is left: they are sent away when they do not ask."""
    from noisetop.metrics import server

    address = served[2]
    monkeypatch.setattr(server._Handler, "timeout", 0.2)
    with ExitStack() as stack:
        for _ in range(server._MOST_AT_ONCE + 4):
            stack.enter_context(socket.create_connection((address.host, address.port)))
        end = time.monotonic() + 20
        while True:
            try:
                asked(address)
                break
            except (OSError, http.client.HTTPException):
                assert time.monotonic() < end
    assert capsys.readouterr().err == ""


def test_an_address_of_the_sixth_version() -> None:
    one = exported(MadeUpTracer(5))
    address = Address("::1", free_port())
    with address.serving(published(one)):
        assert asked(address)[0].startswith("text/plain")
