"""A folder of the worst moments: K recordings and an index, however long it goes on."""

from __future__ import annotations

import datetime
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from noisetop.errors import NoisetopError, UsageError
from noisetop.flight_recorder.snapshot_files import (
    Taken,
    Unfinished,
    remove_unfinished,
    written,
)
from noisetop.output import check_output
from noisetop.recording.moment import TOTAL, WAIT, Figures, Moment
from noisetop.recording.open import SUFFIX
from noisetop.summary.cpu_victim import CpuVictims

INDEX = "index.json"
COST = "cost"
BY_COST = (COST, TOTAL)
"""What orders moments by the estimate of what was lost, where there is a calibration; others go by
their length."""
_NS_PER_S = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Kept:
    """A file of the folder."""

    file: str
    figures: Figures
    start_ns: int
    end_ns: int
    """The period that it holds, CLOCK_MONOTONIC of the boot below."""
    boot: str
    """Since which start of the machine; moments of two do not compare."""
    size_ns: int
    """What it is ordered by."""

    def as_dict(self) -> dict[str, Any]:
        """As the index has it."""
        period = {"from_ns": self.start_ns, "to_ns": self.end_ns, "boot_id": self.boot}
        return {"file": self.file, **self.figures.as_dict(), "size_ns": self.size_ns, **period}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Kept:
        """The inverse. Raises KeyError, TypeError or ValueError on what we did not write."""
        file = str(content["file"])
        if Path(file).name != file or not file.endswith(SUFFIX):
            raise ValueError(file)
        return cls(
            file,
            Figures.from_dict(content),
            int(content["from_ns"]),
            int(content["to_ns"]),
            str(content["boot_id"]),
            int(content["size_ns"]),
        )


@dataclass(slots=True)
class WorstFolder:
    """Takes snapshots; a file whose moment is no longer among the worst is removed."""

    path: Path
    keep: int
    by: str
    """What orders the moments: a kind of moment, or COST."""
    boot: str
    kept: list[Kept] = field(default_factory=list)
    """Worst first."""

    def open(self) -> None:
        """Creates the folder, or goes on with it. Raises UsageError and NoisetopError."""
        try:
            self.path.mkdir(mode=0o700, exist_ok=True)
            remove_unfinished(self.path)
            for path in self.path.glob(f".{INDEX}.*"):
                path.unlink()
            self.kept = self._in_order(self._read_index())[: self.keep]
            self._check_files()
            self._write_index()
        except OSError as error:
            raise NoisetopError(
                f"cannot write {self.path}: {error.strerror}: choose another folder with -o"
            ) from None

    @property
    def bar_ns(self) -> int:
        """What a moment has to be worse than."""
        return self.kept[-1].size_ns if len(self.kept) >= self.keep else 0

    def contains(self, moment: Moment) -> bool:
        """Whether a file has this moment already, behind one that is worse."""
        return any(
            moment.overlaps(one.start_ns, one.end_ns) and one.size_ns >= moment.size_ns
            for one in self.kept
            if one.boot == self.boot
        )

    def take(self, taken: Taken) -> CpuVictims:
        """Keeps the snapshot if it is among the worst. Raises OSError and NoisetopError."""
        with written(taken, self.path) as file:
            figures = file.analysis.figures
            size_ns = self._size(taken.moment, figures) if figures else 0
            if figures and size_ns > self.bar_ns:
                self._keep(file, taken, figures, size_ns)
            return file.analysis.whose

    def _size(self, moment: Moment, figures: Figures) -> int:
        if self.by in BY_COST:
            return figures.cost_ns if figures.cost_ns is not None else figures.net_ns
        return figures.duration_ns if moment.kind == WAIT else figures.net_ns

    def _keep(self, file: Unfinished, taken: Taken, figures: Figures, size_ns: int) -> None:
        """Those that lie in the new file and are less bad are in it from now on."""
        period = taken.snapshot.start_ns, taken.snapshot.end_ns
        name = self._name(taken.snapshot.metadata["started"], figures, period[0])
        inside = [
            one for one in self.kept
            if one.boot == self.boot and one.size_ns <= size_ns
            and period[0] <= one.figures.start_ns <= period[1]
        ]  # fmt: skip
        new = Kept(name, figures, *period, self.boot, size_ns)
        before = self.kept
        self.kept = self._in_order([new, *(one for one in before if one not in inside)])[
            : self.keep
        ]
        file.publish(self.path / name)
        self._write_index()
        for one in before:
            if one not in self.kept and one.file != name:
                (self.path / one.file).unlink(missing_ok=True)

    def _name(self, started: str, figures: Figures, start_ns: int) -> str:
        """By the time of day and the CPU."""
        began = datetime.datetime.fromisoformat(started)
        moment = began + datetime.timedelta(seconds=(figures.start_ns - start_ns) / _NS_PER_S)
        return f"{moment:%Y%m%dT%H%M%S}.{moment.microsecond:06d}Z-cpu{figures.cpu}{SUFFIX}"

    def _in_order(self, some: list[Kept]) -> list[Kept]:
        return sorted(some, key=lambda one: (-one.size_ns, one.file))

    def _read_index(self) -> list[Kept]:
        """Those whose files are there. Raises UsageError where the folder holds something else."""
        index = self.path / INDEX
        if not index.exists():
            if any(self.path.iterdir()):
                raise UsageError(f"{self.path} holds other files: choose an empty folder with -o")
            return []
        try:
            content = json.loads(index.read_text())
            if not isinstance(content, list):
                raise TypeError(index)
            found = [Kept.from_dict(one) for one in content]
        except (ValueError, KeyError, TypeError):
            raise UsageError(
                f"{index} is none of noisetop's: choose another folder with -o"
            ) from None
        return [one for one in found if (self.path / one.file).is_file()]

    def _check_files(self) -> None:
        """Removes recordings that the index does not name: their writer was killed meanwhile."""
        known = {one.file for one in self.kept}
        for path in self.path.glob(f"*Z-cpu*{SUFFIX}"):
            if path.name not in known:
                path.unlink()

    def _write_index(self) -> None:
        text = json.dumps([one.as_dict() for one in self.kept], indent=1)
        with check_output(self.path / INDEX, force=True).opened() as file:
            file.write(text.encode() + b"\n")
