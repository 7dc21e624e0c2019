"""Changes of the isolation while a recording runs."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from noisetop.machine import system
from noisetop.text.cpu_list import format_cpu_list
from tests.kernel.forked import started
from tests.kernel.program import read

pytestmark = [pytest.mark.kernel, pytest.mark.side_by_side]

CPUS = system.online_cpus()
CPU, KEEP = max(CPUS), min(CPUS)


def movable() -> Path:
    """The affinity of an interrupt that may go to all CPUs, and takes another one."""
    wanted = format_cpu_list(CPUS)
    for path in sorted(Path("/proc/irq").glob("[0-9]*/smp_affinity_list")):
        if path.read_text().strip() != wanted:
            continue
        try:
            path.write_text(wanted)
        except OSError:
            continue
        return path
    pytest.skip("no interrupt here may be moved")


@pytest.mark.skipif(len(CPUS) < 2, reason="takes two CPUs")
def test_an_interrupt_that_is_moved_is_in_every_view(tmp_path: Path) -> None:
    affinity, output = movable(), tmp_path / "a.noisetop"
    before = affinity.read_text().strip()
    where = ("-c", str(CPU), "-H", str(KEEP), "-d", "1s", "-o", output)
    try:
        with started("record", *where, until="recording") as process:
            time.sleep(0.5)
            affinity.write_text(str(KEEP))
            assert process.wait(30) == 0
    finally:
        affinity.write_text(before)
    (change,) = json.loads(read("report", "--json", output).stdout)["isolation_changes"]
    assert change["setting"] == str(affinity)
    assert (change["before"], change["after"]) == (before, str(KEEP))
    assert f"{affinity} {before} → {KEEP}" in read("report", output).stdout
    trace = tmp_path / "a.json"
    read("export", output, "-o", trace)
    instants = [one for one in json.loads(trace.read_text())["traceEvents"] if one["ph"] == "i"]
    assert [one["args"]["after"] for one in instants if one["cat"] == "isolation"] == [str(KEEP)]
    parts = [("--to", "300ms"), ("--from", "300ms")]
    told = [json.loads(read("report", "--json", *part, output).stdout) for part in parts]
    assert [len(one["isolation_changes"]) for one in told] == [0, 1]
    whole = json.loads(read("report", "--json", output).stdout)["cpus"][str(CPU)]["noise_ns"]
    assert sum(one["cpus"][str(CPU)]["noise_ns"] for one in told) == whole
