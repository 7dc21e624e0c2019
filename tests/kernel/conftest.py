"""What many tests on the real kernel share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from unittest import mock

import pytest

from noisetop.tracing import tracer
from tests.kernel.fork_server import SAMPLE_S
from tests.kernel.forked import run
from tests.kernel.tracing import kernel_symbols

MANY = 50
"""Tests for which it pays to calibrate once: else each run of the program does so at its start."""
EMULATED = "NOISETOP_LOAD_SHARE" in os.environ


@pytest.fixture(scope="session", autouse=True)
def kept_calibration(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """In a state folder of the tests' own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        story = any(item.get_closest_marker("story") for item in request.session.items)
        if (story or request.session.testscollected > MANY) and not EMULATED:
            run("probe", "calibrate", "-d", "200ms")
        yield


@pytest.fixture(scope="session", autouse=True)
def short_starts() -> Iterator[None]:
    """For all tracers of this process: to read the kernel's symbols takes a fifth of attaching, and
    to sample what a record costs takes longer than all else."""
    with (
        mock.patch.object(tracer, "read_kallsyms", kernel_symbols),
        mock.patch.object(tracer, "_SAMPLE_S", SAMPLE_S),
    ):
        yield
