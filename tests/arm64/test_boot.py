"""noisetop on an emulated arm64 machine: it records, and the identities hold there."""

from __future__ import annotations

import re

import pytest

from tests.arm64.machine import build_wheel, check_tools, guest, root_file_system

CPUS = 2
PATIENCE_S = 600
SCRIPT = """\
uname -m
python3 -m noisetop record -c 1 -d 2s -o /tmp/a.noisetop || exit 1
python3 -m noisetop report --top 40 /tmp/a.noisetop || exit 1
export NOISETOP_WORKLOAD=/opt/workload NOISETOP_MUST_RUN=kernel NOISETOP_LOAD_SHARE=0.3
python3 -m pytest --color=no -p no:cacheprovider tests/kernel/test_identities.py
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the machine said."""
    check_tools()
    folder = tmp_path_factory.mktemp("boot")
    root = root_file_system()
    machine = guest(root, build_wheel(root, folder), folder)
    return machine.boot(SCRIPT, folder / "root.cpio", cpus=CPUS, patience_s=PATIENCE_S)


def test_it_records(told: str) -> None:
    assert "aarch64" in told
    assert re.search(r"losses +lost 0", told)
    assert "arch_timer" in told, "the tick is a device interrupt there"


def test_an_interrupt_between_cpus_is_counted_once(told: str) -> None:
    assert "ipi › " in told
    assert not re.search(r"irq › [0-9]+ IPI", told)


def test_the_identities_hold(told: str) -> None:
    summary = re.findall(r"^=+ (.*) in [0-9.]+s.*=+\s*$", told, re.M)
    assert summary, told[-4000:]
    assert re.fullmatch("[0-9]+ passed", summary[-1]), told[-6000:]
    assert "task ended: 0" in told
