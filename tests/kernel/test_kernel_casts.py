"""The kernel's bpf_rdonly_cast(), where it has that (6.2): fields at any address without a call."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from noisetop.machine import system
from noisetop.tracing.target import Target
from noisetop.tracing.tracer import Tracer
from tests.kernel.program import bpftool, held
from tests.kernel.test_refusal import BTF, traced_without

pytestmark = pytest.mark.kernel

CAST = "bpf_rdonly_cast"
HAS_CASTS = f"\0{CAST}\0".encode() in BTF.read_bytes() if BTF.exists() else False


def reads_with_a_helper(name: str) -> int:
    """Calls of a helper that reads the kernel's memory, in a program of this process without the
    functions that it has for what is rare."""
    numbers = map(str, held(os.getpid()))
    texts = [bpftool("prog", "dump", "xlated", "id", number) for number in numbers]
    (text,) = [text for text in texts if text.startswith(f"int {name}(")]
    own, *_others = re.split(r"(?m)^\w.*\):$", text)[1:]
    assert "call " in own
    return own.count("call bpf_probe_read_kernel")


def test_a_wake_up_calls_no_helper_to_read() -> None:
    with Tracer(Target(system.online_cpus()), samples_cost=False):
        if HAS_CASTS:
            assert not reads_with_a_helper("wait_wakeup")


@pytest.mark.side_by_side
def test_a_kernel_without_it_refuses_nothing(tmp_path: Path) -> None:
    if HAS_CASTS:
        missing = traced_without(CAST, tmp_path)
        assert not [name for name in missing if "refused" in name]
