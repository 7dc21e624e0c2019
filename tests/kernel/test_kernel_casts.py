"""The kernel's bpf_rdonly_cast(), where it has that (6.2): fields at any address without a call."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from noisetop.machine import system
from noisetop.tracing.target import Target
from noisetop.tracing.tracer import Tracer
from tests.kernel.program import own_code
from tests.kernel.test_refusal import BTF, traced_without

pytestmark = pytest.mark.kernel

CAST = "bpf_rdonly_cast"
HAS_CASTS = f"\0{CAST}\0".encode() in BTF.read_bytes() if BTF.exists() else False


def test_a_wake_up_calls_no_helper_to_read() -> None:
    with Tracer(Target(system.online_cpus()), samples_cost=False):
        if HAS_CASTS:
            code = own_code(os.getpid(), "wait_wakeup")
            assert "call " in code
            assert "call bpf_probe_read_kernel" not in code


@pytest.mark.side_by_side
def test_a_kernel_without_it_refuses_nothing(tmp_path: Path) -> None:
    if HAS_CASTS:
        missing = traced_without(CAST, tmp_path)
        assert not [name for name in missing if "refused" in name]
