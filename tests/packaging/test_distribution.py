"""What every distribution holds."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

pytestmark = pytest.mark.packaging

PROJECT = Path(__file__).parents[2]


def test_native_module_serves_every_python() -> None:
    spec = importlib.util.find_spec("noisetop._native")
    assert spec is not None
    assert spec.origin is not None
    assert spec.origin.endswith(".abi3.so")


def test_licences_are_there_in_full() -> None:
    apache = (PROJECT / "LICENSE").read_text()
    assert "Apache License" in apache
    assert "END OF TERMS AND CONDITIONS" in apache
    kernel_side = (PROJECT / "bpf/LICENSE").read_text()
    assert kernel_side.startswith("SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause\n")
    assert "GNU GENERAL PUBLIC LICENSE" in kernel_side
    assert "Redistributions in binary form" in kernel_side
