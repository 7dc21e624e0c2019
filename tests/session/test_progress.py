"""The progress line: what it says, and that it leaves no trace."""

from __future__ import annotations

import fcntl
import os
import struct
import termios
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, TextIO

import pytest

from noisetop.counters.losses import LOSSES, Losses
from noisetop.session.progress import progress_line, progress_text

SECOND_NS = 1_000_000_000
START_NS = 100 * SECOND_NS


@pytest.fixture
def terminal() -> Iterator[tuple[int, TextIO]]:
    """A pseudo-terminal of 40 columns: the end that sees, and the one to write to."""
    master, slave = os.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 40, 0, 0))
    os.set_blocking(master, False)
    with os.fdopen(slave, "w") as out:
        yield master, out
    os.close(master)


def tracer() -> Any:
    """What the line asks a tracer for."""
    return SimpleNamespace(
        start_ns=START_NS,
        event_count=1_230,
        noise_ns=5_600_000,
        cpus=(1,),
        counters=SimpleNamespace(at_start={LOSSES: Losses(recursion_misses=3)}),
        cpu_counters=lambda field, enum: {1: {"ring_full": 1}},
        totals=lambda: {"lost_batch": 0, "lost_spool": 2},
        recursion_misses=lambda: 4,
    )


def test_text() -> None:
    assert progress_text(83 * SECOND_NS, 1_230_000, 45_600_000, 0) == (
        "00:01:23  1.23M events  noise 45.6 ms  0 dropped"
    )
    assert progress_text(0, 1, 0, 12_345) == "00:00:00  1 event  noise 0 ns  12.3k dropped"


def test_it_is_rewritten_once_a_second_within_the_terminal_and_removed(
    terminal: tuple[int, TextIO], monkeypatch: pytest.MonkeyPatch
) -> None:
    master, out = terminal
    clock = SimpleNamespace(now=START_NS)
    monkeypatch.setattr(time, "monotonic_ns", lambda: clock.now)
    with progress_line(out, tracer()) as update:
        for _ in range(5):  # five calls in two seconds
            update()
            clock.now += SECOND_NS // 2
    text = ""
    while text.count("\r") < 5:  # a terminal hands over what was written in pieces
        text += os.read(master, 4096).decode()
    parts = text.split("\r")
    full = progress_text(0, 1_230, 5_600_000, 4)
    assert parts == ["", full[:39], f"00:00:01{full[8:39]}", f"00:00:02{full[8:39]}", " " * 39, ""]


def test_without_an_update_nothing_is_written(terminal: tuple[int, TextIO]) -> None:
    master, out = terminal
    with progress_line(out, tracer()):
        pass
    with pytest.raises(BlockingIOError):
        os.read(master, 1)


def test_a_terminal_that_is_gone_does_not_matter() -> None:
    master, slave = os.openpty()
    with os.fdopen(slave, "w") as out:
        os.close(master)
        with progress_line(out, tracer()) as update:
            update()
