"""One JSON object per interruption and line, for jq and whatever reads lines.

Times are in ns; ``start_ns`` is CLOCK_MONOTONIC. ``victim_tid`` is 0 where the CPU was idle, and
then the interruption is no noise.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import BinaryIO

from noisetop.events.interruption import Interruptions
from noisetop.recording.recording import Recording

SUFFIXES = (".ndjson", ".jsonl")
HELP = "one JSON object per interruption and line, times in ns"

_NUMBERS = ("cpu", "start_ns", "gross_ns", "net_ns", "tid", "victim_tid")
_ROWS = 1 << 13


def write(recording: Recording, out: BinaryIO) -> None:
    """Writes a line for each interruption, in the order of the recording."""
    for chunk in recording.chunks():
        for first in range(0, len(chunk), _ROWS):
            text = "".join(_lines(recording, chunk[first : first + _ROWS]))
            out.write(text.encode())


def _lines(recording: Recording, table: Interruptions) -> Iterator[str]:
    numbers = zip(*(table[name].tolist() for name in _NUMBERS), strict=True)
    kinds = zip(table["source"].tolist(), table["trigger"].tolist(), strict=True)
    for values, (source, trigger) in zip(numbers, kinds, strict=True):
        row = {
            **dict(zip(_NUMBERS, values, strict=True)),
            "path": recording.sources[source].path,
            "trigger": recording.triggers[trigger].label,
        }
        yield f"{json.dumps(row)}\n"
