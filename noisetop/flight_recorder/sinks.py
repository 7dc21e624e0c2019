"""Where the snapshots of a run go, each by what it was taken for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from noisetop.flight_recorder.actions import TRACE, Action
from noisetop.flight_recorder.hits import HitFiles
from noisetop.flight_recorder.snapshot_files import Taken
from noisetop.flight_recorder.worst_folder import WorstFolder
from noisetop.recording.moment import ASKED, LOOK
from noisetop.recording.open import SUFFIX
from noisetop.summary.cpu_victim import CpuVictims

END = "the end of the run"
ASKED_FILE = f"asked-%t-%n{SUFFIX}"
"""In the folder of the worst moments."""


@dataclass(slots=True)
class Sinks:
    """Each moment goes where it belongs: noisetop.flight_recorder.writer.Sink."""

    hits: HitFiles
    worst: WorstFolder | None
    on_end: Sequence[Action] = ()
    on_asked: Callable[[Path], object] | None = None
    """Called with each file that was asked for, on the thread that writes."""

    def take(self, taken: Taken) -> CpuVictims:
        """See Sink."""
        if taken.moment.kind == LOOK:
            return self.hits.look(taken)
        if taken.moment.kind == ASKED:
            return self._asked(taken)
        return self.worst.take(taken) if self.worst else self.hits.take(taken)

    def _asked(self, taken: Taken) -> CpuVictims:
        actions = self.on_end if taken.moment.name == END else (Action(TRACE),)
        whose = self.hits.do(taken, actions)
        file = self.hits.hits[-1].file
        if self.on_asked is not None and file is not None:
            self.on_asked(file)
        return whose
