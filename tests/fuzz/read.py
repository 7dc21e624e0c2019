"""What every command does with a file before its own work: open it, and add up what is in it.

The commands on recordings begin with open_recording(), those on results with read_result(), and
diagnose --against with saved.load(); none of them takes an option. A file that they refuse is so
refused by each command, in the same words.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from noisetop.diagnosis import saved
from noisetop.errors import NoisetopError
from noisetop.gaps.files import looks_like_result, read_result
from noisetop.recording.open import open_recording
from noisetop.recording.recording import Recording
from noisetop.summary.as_dict import summary_as_dict
from noisetop.summary.recorded import summary_of


@dataclass(frozen=True, slots=True)
class Read:
    """A file as it was read."""

    totals: dict[str, Any] | None
    """None: there are none, or only an error."""
    refused: str = ""
    """The error of a file that could not be opened; empty: it could."""


def read(path: Path, format: str) -> Read:
    """Opens a file and adds up. Raises what no command may."""
    try:
        opened = _opened(path, format)
    except NoisetopError as error:
        return Read(None, str(error))
    try:
        return Read(opened())
    except NoisetopError:
        return Read(None)


def _opened(path: Path, format: str) -> Callable[[], dict[str, Any]]:
    if format == "saved":
        before = saved.load(path)
        return lambda: asdict(before)
    if looks_like_result(path):
        return read_result(path).to_json
    recording = open_recording(path)
    return lambda: _totals(recording)


def _totals(recording: Recording) -> dict[str, Any]:
    summary = summary_as_dict(summary_of(recording))
    return summary | {
        "ended": recording.ended,
        "damage": recording.damage,
        "metadata": recording.metadata,
    }
