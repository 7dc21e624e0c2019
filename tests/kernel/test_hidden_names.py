"""Without CAP_SYSLOG the kernel shows no addresses of its functions: that is told, not guessed."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.kernel.loads import RESTS, workload
from tests.kernel.own_cpu import OTHER, OWN
from tests.kernel.program import PROGRAM, read

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.side_by_side,
    pytest.mark.skipif(not shutil.which("setpriv"), reason="needs setpriv of util-linux"),
]

CPU = OWN
WITHOUT = ("setpriv", "--bounding-set=-syslog,-sys_admin", "--inh-caps=-syslog,-sys_admin")


def test_addresses_stand_for_functions(tmp_path: Path) -> None:
    file = tmp_path / "a.noisetop"
    with workload(
        "membarrier", CPU, OTHER, 1000, rest_us=RESTS
    ):  # on an idle CPU the tick delays nobody
        done = subprocess.run(
            [*WITHOUT, PROGRAM, "record", "-c", str(CPU), "-d", "500ms", "-o", file],
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    assert "CAP_SYSLOG" in done.stderr
    document = json.loads(read("report", "--json", file).stdout)
    assert any("CAP_SYSLOG" in one for one in document["unavailable_sources"])
    paths = {tuple(one["path"]) for cpu in document["cpus"].values() for one in cpu["sources"]}
    timers = [path for path in paths if path[:2] == ("timer", "local_timer") and path[2:]]
    assert all(path[2].startswith("0x") for path in timers)
    causes = json.loads(read("diagnose", "--json", file).stdout)
    found = {one["rule"] for one in causes["findings"]}
    assert "nameless-function" in found
    assert not found & {"high-resolution-timer", "driver-health-timer", "kernel-timer"}
