"""Samples on a stream: until when, and what becomes of errors."""

from __future__ import annotations

import io

import pytest

from noisetop.errors import NoisetopError
from noisetop.live.sample import Sample
from noisetop.live.writer import write_samples
from tests.builders import FakeFeed, cpu, growing, sample, summary

TICK = ("timer", "local_timer", "tick_nohz_handler")


def as_text(sample: Sample) -> str:
    return f"{sample.interval.end_ns} µs {sample.ended}\n"


def written(feed: FakeFeed) -> list[str]:
    out = io.StringIO()
    write_samples(feed, out, as_text)
    return out.getvalue().splitlines()


def test_the_end_of_the_feed_ends_it() -> None:
    first, *_ = growing((1,), [TICK], 1)
    lines = written(FakeFeed(first, sample(summary(cpu(1)), ended="process 5 exited")))
    assert len(lines) == 2
    assert lines[1].endswith("process 5 exited")


def test_an_error_of_the_feed_passes_through() -> None:
    with pytest.raises(NoisetopError, match="gone"):
        written(FakeFeed(sample(summary(cpu(1))), NoisetopError("gone")))


def test_a_closed_pipe_ends_the_run_quietly() -> None:
    class Closed(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    write_samples(FakeFeed(sample(summary(cpu(1)))), Closed(), as_text)
