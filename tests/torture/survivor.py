"""A live view that runs on through all of it: its memory and descriptors stay flat."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.kernel.program import PROGRAM

GROWTH = 1.1
"""Of the memory after the first part of the time, at most."""
SETTLED = 0.1
"""This part of the measurements, the first, does not count."""
_PATIENCE_S = 40


@dataclass(slots=True)
class Survivor:
    """``noisetop top --json``, measured from time to time."""

    folder: Path
    process: subprocess.Popen[bytes] = field(init=False)
    memory_kib: list[int] = field(default_factory=list)
    descriptors: list[int] = field(default_factory=list)

    @contextmanager
    def started(self) -> Iterator[None]:
        """Of every CPU. It does not outlive the block."""
        with (self.folder / "survivor").open("wb") as stderr:
            self.process = subprocess.Popen(
                [PROGRAM, "top", "--json", "1"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                start_new_session=True,
            )
        try:
            yield
        finally:
            self.process.kill()
            self.process.wait()

    def measure(self) -> None:
        """Its memory and descriptors now; nothing when it is gone."""
        folder = Path("/proc", str(self.process.pid))
        if self.process.poll() is not None:
            return
        for line in (folder / "status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                self.memory_kib.append(int(line.split()[1]))
        self.descriptors.append(sum(1 for _ in (folder / "fd").iterdir()))

    def end(self) -> list[str]:
        """Stops it as a user would; what is wrong with it."""
        if self.process.poll() is not None:
            return [f"the live view ended with status {self.process.returncode}"]
        self.process.send_signal(signal.SIGINT)
        status = self.process.wait(_PATIENCE_S)
        found = [f"the live view ended with status {status}"] if status not in (0, 130) else []
        return found + growing("memory", self.memory_kib) + growing("descriptors", self.descriptors)


def growing(what: str, measured: list[int]) -> list[str]:
    """Whether the last third of the measurements is larger than those after the first part."""
    settled = measured[int(len(measured) * SETTLED) :]
    third = len(settled) // 3
    if not third:
        return [f"too few measurements of its {what}: {len(measured)}"]
    first, last = max(settled[:third]), min(settled[-third:])
    return [f"its {what} grew from {first} to {last}"] if last > GROWTH * first else []
