"""Records are lent to Python in the memory of the thread that drains the rings."""

from __future__ import annotations

import pytest

from noisetop.machine import system
from noisetop.tracing.target import Target
from noisetop.tracing.tracer import Tracer
from tests.kernel.loads import workload
from tests.kernel.program import wait_for

pytestmark = [pytest.mark.kernel, pytest.mark.side_by_side]

CPUS = system.online_cpus()
VICTIM_CPU, SENDER_CPU = CPUS[-1], CPUS[0]


def records_of(tracer: Tracer) -> memoryview:
    """What the next reading gives that is not empty."""
    found: list[memoryview] = []

    def read() -> bool:
        found.append(tracer._session.read())
        return len(found[-1]) > 0

    wait_for(read, "records")
    return found[-1]


def test_what_was_read_stays_as_it_was() -> None:
    with (
        workload("timerfd", VICTIM_CPU, SENDER_CPU, 1000),
        Tracer(Target((VICTIM_CPU,)), housekeeping=(SENDER_CPU,), samples_cost=False) as tracer,
    ):
        tracer.start_window()
        first = records_of(tracer)
        copy = bytes(first)
        kept = [(one, bytes(one)) for one in (records_of(tracer) for _ in range(5))]
        del kept[1:4]  # its memory is used again, that of the others is not
        for _ in range(5):
            records_of(tracer)
        assert bytes(first) == copy
        tracer.stop_window()
    assert bytes(first) == copy, "it outlives the session"
    assert all(bytes(one) == was for one, was in kept)
    with pytest.raises(TypeError):
        first[0] = 0
