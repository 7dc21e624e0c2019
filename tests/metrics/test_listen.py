"""Where metrics are served: loopback unless told."""

from __future__ import annotations

import pytest

from noisetop.errors import UsageError
from noisetop.metrics.listen import DEFAULT, Address, parse_address


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("9000", Address("127.0.0.1", 9000)),
        ("localhost:9000", Address("127.0.0.1", 9000)),
        ("0.0.0.0:9000", Address("0.0.0.0", 9000)),
        ("[::1]:9000", Address("::1", 9000)),
    ],
)
def test_an_address_and_a_port(text: str, address: Address) -> None:
    assert parse_address(text) == address


def test_the_default_is_on_loopback() -> None:
    assert parse_address(DEFAULT).host == "127.0.0.1"
    assert Address("::1", 9000).url == "http://[::1]:9000/metrics"


@pytest.mark.parametrize(
    "text", ["", ":9000", "0", "65536", "host.example:9000", "127.0.0.1", "1.2.3:9", "-1", "::1:80"]
)
def test_what_is_no_address_is_told_in_one_line(text: str) -> None:
    with pytest.raises(UsageError) as told:
        parse_address(text)
    assert "\n" not in str(told.value)
    assert "--listen" in str(told.value)
