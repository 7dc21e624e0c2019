"""How old the clock was that the kernel read for the run delay of each task."""

from __future__ import annotations

import contextlib
import functools
import platform
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

_HERE = Path(__file__).parent
_MOMENT = np.dtype(
    [(name, "<u4") for name in ("tid", "cpu")]
    + [(name, "<u8") for name in ("what", "queued_ns", "clock_ns", "now_ns")]
)
_WOKEN, _ARRIVES, _DEPARTS = range(3)


@dataclass
class ClockAges:
    """Complete after its context has ended."""

    _moments: npt.NDArray[np.void] = field(default_factory=lambda: np.empty(0, _MOMENT))
    _ages: npt.NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))

    def take(self, content: bytes) -> None:
        """All moments; the youngest clock of each CPU is as good as new, as it was just read."""
        self._moments = np.frombuffer(content, _MOMENT)
        behind = (self._moments["now_ns"] - self._moments["clock_ns"]).astype(np.int64)
        self._ages = np.empty(len(behind), np.int64)
        for cpu in np.unique(self._moments["cpu"]):
            mine = self._moments["cpu"] == cpu
            self._ages[mine] = behind[mine] - behind[mine].min()

    def missing_ns(self, tid: int) -> int:
        """What lies between the ends of the task's waits as they happened and as the kernel's
        clock told them, altogether: added to its run delay it gives the time that it waited."""
        mine, what = self._moments["tid"] == tid, self._moments["what"]
        waited = self._moments["queued_ns"] != 0
        arrives, departs = mine & (what == _ARRIVES) & waited, mine & (what == _DEPARTS)
        woken = mine & (what == _WOKEN) & waited
        begins = self._ages[departs].sum() + self._ages[woken].sum()
        return int(self._ages[arrives].sum() - begins)

    def not_counted(self, tid: int) -> int:
        """Waits of the task that lasted no time at all by the kernel's clock."""
        moments = self._moments[self._moments["tid"] == tid]
        same = moments["queued_ns"] == moments["clock_ns"]
        return int(np.count_nonzero(same & (moments["what"] == _ARRIVES)))


@functools.cache
def _programs() -> tuple[Path, Path]:
    """The reader and its BPF object, compiled once per test run."""
    folder = Path(tempfile.mkdtemp(prefix="noisetop-tests-"))
    include = f"-I/usr/include/{platform.machine()}-linux-gnu"
    target = ["-target", "bpf", "-mcpu=v3", "-g", "-O2", include, "-o", str(folder / "run_delay.o")]
    subprocess.run(["clang", *target, "-c", str(_HERE / "run_delay.bpf.c")], check=True)
    subprocess.run(
        ["cc", "-O2", "-o", folder / "run_delay", _HERE / "run_delay.c", "-lbpf"], check=True
    )
    return folder / "run_delay", folder / "run_delay.o"


@contextlib.contextmanager
def clock_ages(pid: int) -> Iterator[ClockAges]:
    """Looks at the threads of a process while the context lasts."""
    ages = ClockAges()
    command = [*map(str, _programs()), str(pid)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert process.stdout
        assert process.stdout.readline() == b"ready\n"
        yield ages
        content, _ = process.communicate(b"\n", timeout=60)
        assert process.returncode == 0, "run_delay.c: there was no room, or it could not read"
        ages.take(content)
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream:
                stream.close()
