"""Files of snapshots: complete or not there at all, and nothing left of those that were cut off."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from noisetop.flight_recorder.analysis import Analysis, analyse
from noisetop.output import PRIVATE, create
from noisetop.recording.moment import Moment
from noisetop.recording.snapshot_file import Snapshot

_UNFINISHED = ".snapshot-"
_RANDOM_BYTES = 8


@dataclass(frozen=True, slots=True)
class Taken:
    """A moment, and what goes into its file."""

    moment: Moment
    snapshot: Snapshot


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A whole file that has not got its name yet."""

    path: Path
    analysis: Analysis

    def publish(self, path: Path) -> None:
        """Gives it its name, in the place of a file that has it. Raises OSError."""
        self.path.replace(path)


@contextmanager
def written(taken: Taken, folder: Path) -> Iterator[Unfinished]:
    """The snapshot in a file of that folder, read back; removed at the end of the block unless it
    was published. Raises OSError and NoisetopError."""
    path = folder / f"{_UNFINISHED}{os.getpid()}-{os.urandom(_RANDOM_BYTES).hex()}"
    fd = create(path, PRIVATE)
    try:
        try:
            taken.snapshot.write(fd)
        finally:
            os.close(fd)
        yield Unfinished(path, analyse(path, taken.moment))
    finally:
        path.unlink(missing_ok=True)


def remove_unfinished(folder: Path) -> None:
    """Removes what recorders that were killed left behind."""
    for path in folder.glob(f"{_UNFINISHED}*"):
        number = path.name[len(_UNFINISHED) :].partition("-")[0]
        if not number.isdigit() or not Path(f"/proc/{number}").exists():
            with suppress(OSError):
                path.unlink()
