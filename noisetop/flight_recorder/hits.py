"""Files and actions of moments that reach a threshold, or that somebody asked for."""

from __future__ import annotations

import datetime
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from noisetop.errors import NoisetopError
from noisetop.flight_recorder.actions import (
    CONTINUE,
    SHELL,
    SIGNAL,
    TRACE,
    Action,
    environment_of,
    send_signal,
)
from noisetop.flight_recorder.snapshot_files import Taken, Unfinished, remove_unfinished, written
from noisetop.output import PRIVATE, Output
from noisetop.recording.moment import ASKED, SINGLE, TOTAL, Figures, Moment
from noisetop.summary.cpu_victim import CpuVictims

_TIME, _NUMBER = "%t", "%n"


@dataclass(frozen=True, slots=True)
class Hit:
    """A moment that was confirmed."""

    kind: str
    figures: Figures | None
    file: Path | None
    """None: there is none."""


@dataclass(slots=True)
class HitFiles:
    """Does what is to be done with each snapshot, in order; the first that fails ends the list."""

    actions: Sequence[Action]
    output: Path
    """Where an action ``trace`` writes that names no file; %t is the time, %n the number."""
    run_command: Callable[[Action, Mapping[str, str]], None]
    """Of SHELL: runs the command with what it is told. Raises NoisetopError."""
    notice: Callable[[str], None]
    force: bool = False
    max_files: int = 0
    """Older ones are removed; 0: none is."""
    hits: list[Hit] = field(default_factory=list)
    """The last ones."""
    count: int = 0
    """All of them."""
    stop: threading.Event = field(default_factory=threading.Event)
    """Set when a moment that was not asked for ends the run: its list did not get to CONTINUE."""
    _files: deque[Path] = field(default_factory=deque)
    _number: int = 0

    def open(self) -> None:
        """Removes what recorders that were killed left behind."""
        remove_unfinished(self._folder)

    @property
    def _folder(self) -> Path:
        """Where files are written: a file gets its name within one file system."""
        named = [Path(one.file) for one in self.actions if one.file]
        return (named[0] if named else self.output).parent

    @property
    def goes_on(self) -> bool:
        """Whether the run goes on after a hit whose actions succeed."""
        return any(one.kind == CONTINUE for one in self.actions)

    def take(self, taken: Taken) -> CpuVictims:
        """Raises OSError and NoisetopError."""
        return self.do(taken, self.actions)

    def look(self, taken: Taken) -> CpuVictims:
        """Leaves no file. Raises OSError and NoisetopError."""
        with written(taken, self._folder) as file:
            return file.analysis.whose

    def do(self, taken: Taken, actions: Sequence[Action]) -> CpuVictims:
        """Writes the snapshot and does the actions, unless the moment was none."""
        with written(taken, self._folder) as file:
            figures = file.analysis.figures
            if taken.moment.kind != ASKED and not _reached(taken.moment, figures):
                return file.analysis.whose
            self.count += 1
            self.hits = [*self.hits[-9:], Hit(taken.moment.kind, figures, None)]
            goes_on = taken.moment.kind == ASKED
            try:
                goes_on |= self._do_all(actions, file, figures)
            finally:
                if not goes_on:
                    self.stop.set()
            return file.analysis.whose

    def _do_all(self, actions: Sequence[Action], file: Unfinished, figures: Figures | None) -> bool:
        """Whether the list says that the run goes on: as with rtla, one that fails before does
        not."""
        path: Path | None = None
        for action in actions:
            try:
                if action.kind == TRACE and path is None:
                    path = self._publish(action, file)
                    self.hits[-1] = Hit(self.hits[-1].kind, figures, path)
                elif action.kind == SIGNAL:
                    send_signal(action)
                elif action.kind == SHELL:
                    self.run_command(action, environment_of(path, figures))
                elif action.kind == CONTINUE:
                    return True
            except NoisetopError as error:
                self.notice(f"action {action.kind}: {error}")
                return False
        return False

    def _publish(self, action: Action, file: Unfinished) -> Path:
        """Raises NoisetopError."""
        self._number += 1
        template = Path(action.file) if action.file else self.output
        now = datetime.datetime.now().astimezone()
        name = template.name.replace(_TIME, f"{now:%Y%m%dT%H%M%S}")
        path = template.with_name(name.replace(_NUMBER, str(self._number)))
        try:
            Output(path, self.force or path in self._files, PRIVATE).publish(file.path)
        except NoisetopError as error:
            raise NoisetopError(str(error).partition(": the result is in")[0]) from None
        self._files.append(path)
        while self.max_files and len(self._files) > self.max_files:
            self._files.popleft().unlink(missing_ok=True)
        return path


def _reached(moment: Moment, figures: Figures | None) -> bool:
    """Whether the exact figures are above the threshold as well."""
    if figures is None:
        return False
    return moment.kind not in (SINGLE, TOTAL) or figures.net_ns >= moment.threshold_ns


def numbered(output: Path) -> Path:
    """A name for many files: with a number, unless it has a place for one."""
    if _TIME in output.name or _NUMBER in output.name:
        return output
    return output.with_name(f"{output.stem}-{_NUMBER}{output.suffix}")
