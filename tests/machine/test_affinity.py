"""Where a thread may run."""

from __future__ import annotations

import os
import threading

from noisetop.machine.affinity import allowed_cpus_of_thread

ABOVE_ANY_TID = 1 << 22


def test_the_cpus_of_a_thread_are_those_that_it_is_bound_to() -> None:
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(before)})
        assert allowed_cpus_of_thread(threading.get_native_id()) == {min(before)}
    finally:
        os.sched_setaffinity(0, before)
    assert allowed_cpus_of_thread(ABOVE_ANY_TID) == set()
