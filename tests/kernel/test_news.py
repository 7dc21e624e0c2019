"""The drain thread says that a recording has something new, and not again each time it looks."""

from __future__ import annotations

import os
import select
from pathlib import Path

import pytest

from noisetop.machine import system
from noisetop.recording.raw_file import SpoolWriter
from noisetop.tracing.target import Target
from noisetop.tracing.tracer import Tracer
from tests.kernel.loads import workload

pytestmark = [pytest.mark.kernel, pytest.mark.side_by_side]

CPUS = system.online_cpus()
VICTIM_CPU, SENDER_CPU = CPUS[-1], CPUS[0]
AN_HOUR_S = 3600.0
PASSES = 20


def passes(tracer: Tracer) -> None:
    """The rings are drained so often."""
    for _ in range(PASSES):
        tracer._session.read()


def test_news_are_told_once_in_an_interval_and_only_while_somebody_listens(tmp_path: Path) -> None:
    told = os.eventfd(0, os.EFD_NONBLOCK)
    with (
        (tmp_path / "spool").open("w+b", buffering=0) as file,
        Tracer(Target((VICTIM_CPU,)), spool_fd=file.fileno(), housekeeping=(SENDER_CPU,)) as tracer,
    ):
        writer = SpoolWriter(tracer.layout, tracer)
        writer.write_head({}, tracer.names, (VICTIM_CPU,))
        tracer.start_window()
        with workload("timerfd", VICTIM_CPU, SENDER_CPU, 1000):
            tracer._session.announce_news(told, AN_HOUR_S)
            assert select.select([told], [], [], 30)[0], "nothing was new"
            passes(tracer)
            assert os.eventfd_read(told) == 1
            assert tracer._session.news()
            tracer._session.announce_news(told, 0)
            with workload("timerfd", VICTIM_CPU, SENDER_CPU, 10):
                assert select.select([told], [], [], 30)[0], "a new task was not"
            tracer._session.announce_news(-1, 0)
            os.eventfd_read(told)
            tracer._session.news()
            with workload("timerfd", VICTIM_CPU, SENDER_CPU, 10):
                pass
            passes(tracer)
            assert tracer._session.news(), "a new task was not"
            assert not select.select([told], [], [], 0)[0]
        tracer.stop_window()
    os.close(told)
