"""Privileges that are given up, in a process of its own each time."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="takes capabilities to give up")

_SCRIPT = """
import subprocess
import threading
from noisetop.tracing import capabilities
from noisetop.tracing.capabilities import (
    NONE, Capability, drop_capabilities, none_effective, permitted, raised)

KILL, CHOWN = Capability.KILL, Capability.CHOWN

def told(text):
    names = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs")
    lines = dict(line.split(":") for line in text.splitlines() if line.startswith(names))
    return " ".join(f"{int(lines[name], 16):x}" for name in names)

def mine():
    print(told(open("/proc/thread-self/status").read()))
"""


def output(script: str, *prefix: str) -> list[str]:
    done = subprocess.run(
        [*prefix, sys.executable, "-c", _SCRIPT + script],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def sets(permitted: str = "0", effective: str = "0") -> str:
    """As a thread has them that gave up all others."""
    return f"0 {permitted} {effective} {permitted} 0 1"


def test_none_stays_and_no_program_gets_one_back() -> None:
    found = output(
        "drop_capabilities(NONE)\nmine()\n"
        "print(told(subprocess.check_output(['cat', '/proc/self/status'], text=True)))\n"
    )
    assert found == [sets()] * 2


def test_what_is_kept_is_in_effect_only_where_it_is_said() -> None:
    found = output(
        "print(int(drop_capabilities(KILL | CHOWN, CHOWN)))\nmine()\n"
        "with raised(KILL):\n    mine()\nmine()\n"
    )
    assert found == ["33", sets("21", "1"), sets("21", "21"), sets("21", "1")]


def test_blocks_lie_in_each_other() -> None:
    found = output(
        "drop_capabilities(KILL | CHOWN)\n"
        "with raised(KILL):\n"
        "    with raised(KILL | CHOWN):\n        mine()\n"
        "    with none_effective():\n        mine()\n"
        "    mine()\nmine()\n"
    )
    assert found == [sets("21", "21"), sets("21"), sets("21", "20"), sets("21")]


def test_what_was_given_up_cannot_be_raised() -> None:
    found = output("drop_capabilities(KILL)\nwith raised(CHOWN):\n    mine()\n")
    assert found == [sets("20")]


def test_before_any_is_given_up_nothing_changes() -> None:
    assert len(set(output("mine()\nwith raised(KILL):\n    mine()\nmine()\n"))) == 1


def test_threads_that_start_later_have_the_same_and_others_keep_theirs() -> None:
    found = output(
        "go = threading.Event()\n"
        "before = threading.Thread(target=lambda: go.wait() and mine())\nbefore.start()\n"
        "drop_capabilities(KILL, KILL)\n"
        "after = threading.Thread(target=mine)\nafter.start()\nafter.join()\n"
        "go.set()\nbefore.join()\n"
    )
    assert found[0] == sets("20", "20")
    assert found[1].endswith(" 0")
    assert found[1] != found[0]


def test_without_setpcap_the_bounding_set_stays() -> None:
    found = output(
        "drop_capabilities(KILL)\nmine()\n", "setpriv", "--bounding-set=-all,+kill,+chown"
    )
    assert found == ["0 20 0 21 0 1"]


def test_whether_maps_take_a_capability_is_found_by_trying() -> None:
    """The kernel of this machine knows; the state of the thread is the same afterwards."""
    found = output(
        "mine()\nprint(capabilities.maps_take_a_capability())\nmine()\n"
        "capabilities._bpf = lambda number, command, attributes: -1\n"
        "print(capabilities.maps_take_a_capability())\n"
    )
    assert found[0] == found[2]
    assert found[1] in ("True", "False")
    assert found[3] == "True"
