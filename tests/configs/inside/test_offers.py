"""What a kernel that was built here offers to noisetop, and how it says what is missing."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest

from noisetop.machine import system
from noisetop.text.cpu_list import format_cpu_list
from noisetop.tracing.target import Target
from noisetop.tracing.tracer import Tracer
from tests.configs.build import refused
from tests.configs.catalogue import CONFIGURATIONS
from tests.kernel.program import read, run

pytestmark = pytest.mark.kernel

NAME = os.environ["NOISETOP_KERNEL"]
CONFIGURATION = next(one for one in CONFIGURATIONS if one.name == NAME)
CPUS = system.online_cpus()
HEAD = "unavailable"


def test_it_is_the_kernel_that_was_asked_for() -> None:
    config = gzip.decompress(Path("/proc/config.gz").read_bytes()).decode()
    assert refused(CONFIGURATION.fragment(), config) == []
    assert len(CPUS) == CONFIGURATION.cpus


def test_what_is_missing_is_what_is_known_to_be() -> None:
    with Tracer(Target(CPUS)) as tracer:
        missing = tracer.unavailable()
    facts = {"release": os.uname().release, "missing": missing}
    Path(os.environ["NOISETOP_FACTS"]).write_text(json.dumps(facts))
    assert sorted(missing) == sorted(CONFIGURATION.lacks)


def test_it_starts_and_lists_what_is_missing(tmp_path: Path) -> None:
    file = tmp_path / "x.noisetop"
    recorded = run("record", "-d", "500ms", "-o", file)
    assert recorded.returncode == 0, recorded.stderr
    assert "no housekeeping CPU" in recorded.stderr
    lines = read("report", file).stdout.splitlines()
    listed = [line.removeprefix(HEAD).strip() for line in lines if line.startswith(HEAD)]
    names = [name for line in listed for name in line.split(", ")]
    assert sorted(names) == sorted(CONFIGURATION.lacks)


def test_the_live_view_starts() -> None:
    shown = run("-c", format_cpu_list(CPUS), "--plain", "1", "1")
    assert shown.returncode == 0, shown.stderr
    assert "no housekeeping CPU" in shown.stderr
    assert "local_timer" in shown.stdout


def test_the_audit_takes_what_is_not_there_for_no_reason_to_end() -> None:
    done = run("check", "-c", str(CPUS[-1]))
    assert "Traceback" not in done.stderr
    assert done.stdout.strip(), done.stderr
