"""A probe binds the process to housekeeping CPUs: each test gets all of them again."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _keep_affinity() -> Iterator[None]:
    before = os.sched_getaffinity(0)
    yield
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(ProcessLookupError):
            os.sched_setaffinity(int(task.name), before)
