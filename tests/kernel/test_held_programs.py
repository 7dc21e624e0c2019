"""Programs that the bench holds once their tool has ended: attached and detached at will."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
from pathlib import Path

import pytest

from bench.held import OFF, ON, Held, held, programs_of
from bench.tools import Setting
from bench.tools.noisetop import Record
from noisetop.machine import system
from tests.kernel.program import bpftool, wait_for

pytestmark = pytest.mark.kernel

CPUS = system.online_cpus()
WATCHED, OTHER = max(CPUS), min(CPUS)
DATAGRAMS = 1_000


def send_datagrams() -> int:
    """To this process itself, on the watched CPU; how many softirqs it had meanwhile for that."""
    os.sched_setaffinity(0, {WATCHED})
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
        own.bind(("127.0.0.1", 0))
        own.connect(own.getsockname())
        before = received()
        for _ in range(DATAGRAMS):
            own.send(b"x")
            own.recv(1)
        return received() - before


def received() -> int:
    """NET_RX softirqs on the watched CPU so far."""
    table = Path("/proc/softirqs").read_text()
    (counts,) = re.findall(r"NET_RX:(.*)", table)
    place = table.splitlines()[0].split().index(f"CPU{WATCHED}")
    return int(counts.split()[place])


def are_gone(programs: set[str]) -> bool:
    """Whether the kernel has none of them any more, and so no link of theirs. Others load and
    unload meanwhile: bpftool fails where one goes that it has just found."""
    try:
        shown = json.loads(bpftool("--json", "prog", "show"))
    except subprocess.CalledProcessError:
        return False
    return programs.isdisjoint(str(program["id"]) for program in shown)


def linked(programs: Held) -> set[str]:
    """Numbers of the programs of which it has a link now."""
    return {one.partition(":")[0] for one in programs_of(programs.asked.process.pid)}


def test_programs_record_while_they_are_attached_and_leave_nothing(tmp_path: Path) -> None:
    setting = Setting(WATCHED, OTHER, tmp_path, ())
    with held([Record()], setting) as (programs,):
        assert not linked(programs)
        before = programs.order(ON)
        mine = linked(programs)
        assert mine
        softirqs = send_datagrams()
        after = programs.order(OFF)
        assert after - before >= softirqs >= DATAGRAMS
        assert not linked(programs)
        send_datagrams()
        assert programs.order(ON) == after
        programs.order(OFF)
        with programs.run(setting) as session:
            softirqs = send_datagrams()
        assert session.seen().events >= softirqs
    assert programs.asked.process.poll() is not None
    wait_for(lambda: are_gone(mine), "the end of their programs")
