"""Memory that a burst took goes back to the kernel."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

BURST = """
import sys
from pathlib import Path
import numpy as np
from noisetop.session.allocation import give_back_memory

def resident_mib():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4 // 1024

if sys.argv[1] == "give back":
    give_back_memory()
kept, before = [], resident_mib()
for size in (2, 4, 8, 16, 24, 30, 30, 30):
    arrays = [np.ones(size << 20, np.uint8) for _ in range(8)]
    kept.append(bytearray(300_000))  # what lies above them in a heap
    del arrays
print(resident_mib() - before)
"""


def left_mib(how: str) -> int:
    done = subprocess.run(
        [sys.executable, "-c", BURST, how], capture_output=True, text=True, check=True
    )
    return int(done.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="about the allocator of glibc")
def test_nothing_of_a_burst_is_kept() -> None:
    """Left alone, more than half of the largest arrays stays."""
    assert left_mib("give back") < 10
    assert left_mib("leave it") > 100
