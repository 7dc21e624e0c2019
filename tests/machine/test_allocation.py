"""Memory that a burst took goes back to the kernel."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

_RESIDENT = """
from pathlib import Path

def resident_mib():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4 // 1024
"""
BURST = f"""
import sys
import numpy as np
from noisetop.machine.allocation import give_back_memory
{_RESIDENT}
if sys.argv[1] == "give back":
    give_back_memory()
kept, before = [], resident_mib()
for size in (2, 4, 8, 16, 24, 30, 30, 30):
    arrays = [np.ones(size << 20, np.uint8) for _ in range(8)]
    kept.append(bytearray(300_000))  # what lies above them in a heap
    del arrays
print(resident_mib() - before)
"""
HOLES = f"""
from noisetop.machine.allocation import HeapTrimmer, give_back_memory
{_RESIDENT}
give_back_memory()
before = resident_mib()
small, large = [], []
for _ in range(1000):
    large.append(bytearray(b"x" * 100_000))
    small.append(bytearray(b"x" * 1_000))  # stays, and the heap with it
large.clear()
full, trimmer = resident_mib() - before, HeapTrimmer()
print(full, trimmer.trim(1), resident_mib() - before, trimmer.trim(2), trimmer.trim(10**11))
"""
with_glibc = pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc", reason="about the allocator of glibc"
)


def said(program: str, *arguments: str) -> list[str]:
    """What it prints in a process of its own."""
    argv = [sys.executable, "-c", program, *arguments]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split()


def left_mib(how: str) -> int:
    [left] = said(BURST, how)
    return int(left)


@with_glibc
def test_nothing_of_a_burst_is_kept() -> None:
    """Left alone, more than half of the largest arrays stays."""
    assert left_mib("give back") < 10
    assert left_mib("leave it") > 100


@with_glibc
def test_holes_of_the_heap_are_given_back_once_a_minute() -> None:
    """The least of what a long trace needs: arrays that stay lie among arrays that go."""
    full, did, left, at_once, later = said(HOLES)
    assert int(full) > 80
    assert int(left) < 10
    assert (did, at_once, later) == ("True", "False", "True")


def test_cycles_are_looked_for_rarely_and_still_found() -> None:
    code = """
import gc
from noisetop.machine.allocation import collect_rarely
class Cycle:
    living = 0
    def __init__(self):
        Cycle.living += 1
        self.me = self
    def __del__(self):
        Cycle.living -= 1
looks = []
collect_rarely()
gc.callbacks.append(lambda phase, info: looks.append(info["generation"]))
for _ in range(400_000):
    Cycle()
print(len(looks) // 2, Cycle.living)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    collections, living = (int(word) for word in done.stdout.split())
    assert 1 <= collections <= 20
    assert living < 200_000
