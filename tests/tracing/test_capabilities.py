"""Privileges that are given up, in a process of its own each time."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="takes capabilities to give up")

_SCRIPT = """
import errno, os, subprocess
from noisetop import _native
from noisetop.tracing.capabilities import CAP_BPF, drop_capabilities

def status(text):
    return [line.split()[1] for line in text.splitlines() if line.startswith(("CapEff", "CapPrm"))]

def works():
    assert status(open("/proc/self/status").read())[1] == "0" * 16  # they are tried without any

def is_refused():
    raise _native.TracerError(errno.EPERM, "open", "")

def is_broken():
    raise _native.TracerError(errno.EINVAL, "open", "")
"""


def output(script: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT + script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_none_stays_and_no_program_gets_one_back() -> None:
    found = output(
        "print(drop_capabilities(works))\n"
        "print(*status(open('/proc/self/status').read()))\n"
        "print(*status(subprocess.check_output(['cat', '/proc/self/status'], text=True)))\n"
    )
    assert found == ["0", *["0" * 16] * 4]


def test_where_reading_takes_it_bpf_stays() -> None:
    """Kernels before 5.19."""
    found = output(
        "print(drop_capabilities(is_refused) == 1 << CAP_BPF)\n"
        "print(*status(open('/proc/self/status').read()))\n"
    )
    assert found == ["True", *[f"{1 << 39:016x}"] * 2]


def test_another_error_is_not_taken_for_that() -> None:
    found = output(
        "try:\n    drop_capabilities(is_broken)\nexcept _native.TracerError as error:\n"
        "    print(error.args[0] == errno.EINVAL)\n"
    )
    assert found == ["True"]


def test_threads_that_start_later_have_none() -> None:
    found = output(
        "drop_capabilities(works)\nimport threading\n"
        "def look():\n    print(*status(open('/proc/thread-self/status').read()))\n"
        "one = threading.Thread(target=look)\none.start()\none.join()\n"
    )
    assert found == ["0" * 16] * 2
