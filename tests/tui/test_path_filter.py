from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisetop.tui.path_filter import exactly, matcher

_PATHS = ("irq › 36 virtio1-req.0 device", "softirq › RCU kernel", "softirq › NET_RX others")


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("", [0, 1, 2]),
        ("!", [0, 1, 2]),
        ("rcu|net", [1, 2]),
        ("^irq", [0]),
        ("!^irq", [1, 2]),
        ("!softirq|irq", []),
        ("others$", [2]),
        ("req(", []),
        ("virtio1-req.0", [0]),
    ],
)
def test_what_matches(text: str, places: list[int]) -> None:
    assert [at for at, path in enumerate(_PATHS) if matcher(text)(path)] == places


def test_text_that_is_no_expression_is_looked_for_as_it_is() -> None:
    assert matcher("a(b")("xa(by")
    assert not matcher("a(b")("xab")


@given(st.text())
def test_a_path_is_found_by_itself(label: str) -> None:
    assert matcher(exactly(label))(f"{label} kernel")


@given(st.text())
def test_any_text_may_be_typed(text: str) -> None:
    matcher(text)("softirq › RCU")
