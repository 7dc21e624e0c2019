"""Causes of a part of a recording, diagnosed bit by bit: another part need not wait for them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from noisetop.diagnosis import Diagnosis, diagnose
from noisetop.diagnosis.evidence import collector_for, evidence_of
from noisetop.live.playback import Playback
from noisetop.live.position import Position

Part = tuple[int, int]
"""First period, and the one behind the last."""


@dataclass(slots=True)
class PlayedCauses:
    """Not to be used from two threads at a time."""

    playback: Playback
    wanted: bool = False
    """Whether somebody looks at them."""
    _about: Part | None = None
    """What ``_steps`` works at, or has done."""
    _steps: Iterator[None] = field(default_factory=lambda: iter(()))
    _found: Diagnosis | None = None

    def of(self, position: Position) -> Diagnosis | None:
        """The causes of that part; None: not wanted, or not done yet."""
        return self._found if self.wanted and self._about == _part(position) else None

    def work(self, position: Position) -> bool:
        """Does a bit of that part. False: there is nothing to do, or its threads are not told yet;
        what plays is gone before anybody has read its causes."""
        if not self.wanted or position.playing or position.until > self.playback.accounted:
            return False
        if self._about != _part(position):
            self._about, self._found = _part(position), None
            self._steps = self._diagnosing(*self._about)
        if self._found is not None:
            return False
        next(self._steps, None)
        return True

    def _diagnosing(self, first: int, until: int) -> Iterator[None]:
        part = self.playback.part(first, until)
        collector = collector_for(part)
        for chunk in part.all_chunks():
            collector.add(chunk)
            yield
        self._found = diagnose(evidence_of(part, collected=collector))


def _part(position: Position) -> Part:
    return position.first, position.until
