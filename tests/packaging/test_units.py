"""The units of systemd: valid, with few privileges, and with options that there are."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from noisetop.cli import parse
from noisetop.metrics.listen import parse_address
from noisetop.session.flight_options import flight_options

pytestmark = pytest.mark.packaging

UNITS = sorted((Path(__file__).parents[2] / "packaging" / "systemd").glob("*.service"))
MOST_EXPOSED = 30
"""Tenths, as ``systemd-analyze security`` counts them."""
_PROGRAM = re.compile(r"(?m)^ExecStart=(\S+) (.*)$")


def analyze(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["systemd-analyze", *words], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_a_unit_is_valid(unit: Path, tmp_path: Path) -> None:
    """With a program in the place of noisetop that is there."""
    here = tmp_path / unit.name
    here.write_text(_PROGRAM.sub(r"ExecStart=/bin/true \2", unit.read_text()))
    done = analyze("verify", "--man=no", here)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_a_unit_has_few_privileges(unit: Path) -> None:
    done = analyze("security", "--offline=true", f"--threshold={MOST_EXPOSED}", unit)
    assert done.returncode == 0, done.stdout.splitlines()[-1:]


def test_the_recorder_has_options_that_there_are() -> None:
    [unit] = [unit for unit in UNITS if unit.stem == "noisetop-recorder"]
    found = _PROGRAM.search(unit.read_text())
    assert found
    name, args = parse(shlex.split(found[2].replace("${STATE_DIRECTORY}", "/var/lib/noisetop")))
    options = flight_options(args)
    assert name == "record"
    assert options is not None
    assert (options.worst, args.output) == (10, Path("/var/lib/noisetop/worst"))


def test_the_exporter_has_options_that_there_are() -> None:
    [unit] = [unit for unit in UNITS if unit.stem == "noisetop-exporter"]
    found = _PROGRAM.search(unit.read_text())
    assert found
    name, args = parse(shlex.split(found[2]))
    assert name == "exporter"
    assert parse_address(args.listen).is_loopback
