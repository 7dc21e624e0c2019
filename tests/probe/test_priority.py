"""Priorities in rtla's notation."""

from __future__ import annotations

import os

import pytest

from noisetop.errors import UsageError
from noisetop.probe.priority import parse_priority


def test_every_form() -> None:
    assert parse_priority("f:95").policy == os.SCHED_FIFO
    assert parse_priority("r:1").level == 1
    assert parse_priority("o:-20").nice == -20
    deadline = parse_priority("d:500us:1ms")
    assert (deadline.runtime_ns, deadline.period_ns) == (500_000, 1_000_000)
    assert parse_priority("d:500:1000").period_ns == 1_000_000


@pytest.mark.parametrize("text", ["", "f", "f:0", "f:100", "o:20", "x:1", "d:5", "d:2ms:1ms"])
def test_anything_else_is_one_line(text: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_priority(text)
    assert "\n" not in str(error.value)
