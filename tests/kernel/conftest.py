"""What tests on the real kernel leave as they found it."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def own_affinity() -> Iterator[None]:
    """A tracer binds this process to housekeeping CPUs, and programs inherit that."""
    before = os.sched_getaffinity(0)
    yield
    os.sched_setaffinity(0, before)
