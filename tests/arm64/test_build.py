"""The wheel for arm64, cross-compiled: machine code, programs and libraries are those of arm64."""

from __future__ import annotations

import re
import subprocess
import zipfile
from pathlib import Path

import pytest

from tests.arm64.machine import build_wheel, check_tools, root_file_system


@pytest.fixture(scope="module")
def extension(tmp_path_factory: pytest.TempPathFactory) -> Path:
    check_tools()
    folder = tmp_path_factory.mktemp("arm64")
    wheel = build_wheel(root_file_system(), folder)
    assert re.fullmatch(r"noisetop-[0-9.]+-cp311-abi3-linux_aarch64\.whl", wheel.name)
    with zipfile.ZipFile(wheel) as archive:
        return Path(archive.extract("noisetop/_native.abi3.so", folder))


def test_it_is_machine_code_of_arm64(extension: Path) -> None:
    told = subprocess.run(["readelf", "-hd", extension], capture_output=True, text=True, check=True)
    assert re.search(r"Machine: +AArch64", told.stdout)
    assert "libbpf.so.1" in told.stdout


def test_it_watches_what_arm64_has(extension: Path) -> None:
    """Interrupts between CPUs by their reason; no vectors of the APIC."""
    content = extension.read_bytes()
    assert b"tp_btf/ipi_entry\0" in content
    assert b"tp_btf/irq_handler_entry\0" in content
    assert b"tp_btf/local_timer_entry" not in content
    assert b"tp_btf/reschedule_entry" not in content
