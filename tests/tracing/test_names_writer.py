"""New names are written when there are some; else the thread sleeps."""

from __future__ import annotations

import os
import threading

import pytest

from noisetop.tracing.names_writer import NamesWriter
from noisetop.tracing.whole_intervals import next_moment_ns, seconds_to_next

A_FORTNIGHT_S = 14 * 86_400.0
"""Since the machine started: no test meets the end of one."""


class Drain:
    """What the writer asks of the drain thread."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, float]] = []

    def announce(self, eventfd: int, interval_s: float) -> None:
        """As announce_news() of a session."""
        self.asked.append((eventfd, interval_s))

    def has_news(self) -> None:
        """Something is new."""
        os.eventfd_write(self.asked[0][0], 1)


def test_names_are_written_when_something_is_new_and_once_more() -> None:
    drain, written = Drain(), threading.Semaphore(0)
    writer = NamesWriter(written.release, drain.announce, interval_s=0.5, longest_s=A_FORTNIGHT_S)
    writer.start()
    for _ in range(3):
        drain.has_news()
        assert written.acquire(timeout=30)
    writer.close()
    writer.close()
    assert writer._thread is None
    assert not written.acquire(blocking=False)
    assert [interval_s for _, interval_s in drain.asked] == [0.5, 0.5]
    assert drain.asked[-1][0] == -1
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(drain.asked[0][0])
    writer.write_last()
    assert written.acquire(blocking=False)


def test_what_is_known_is_looked_up_again_although_nothing_is_new() -> None:
    written = threading.Semaphore(0)
    writer = NamesWriter(written.release, Drain().announce, longest_s=0.01)
    writer.start()
    for _ in range(2):
        assert written.acquire(timeout=30)
    writer.close()


def test_a_file_that_cannot_be_read_ends_it() -> None:
    def refuse() -> None:
        raise OSError(5, "Input/output error")

    drain = Drain()
    writer = NamesWriter(refuse, drain.announce, longest_s=A_FORTNIGHT_S)
    writer.start()
    assert writer._thread is not None
    drain.has_news()
    writer._thread.join(timeout=30)
    assert not writer._thread.is_alive()
    writer.close()
    writer.write_last()


def test_threads_that_wait_for_the_next_interval_wait_for_the_same_moment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for now_ns, moment_ns in ((1_000, 1_250), (1_100, 1_250), (1_249, 1_250), (1_300, 1_500)):
        monkeypatch.setattr("time.monotonic_ns", lambda now_ns=now_ns: now_ns)
        assert next_moment_ns(250e-9) == moment_ns
        assert seconds_to_next(250e-9) == pytest.approx((moment_ns - now_ns) / 1e9)
