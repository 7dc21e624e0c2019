"""A recording of ours again, at a fraction of the size: what ``record`` writes is fast to write."""

from __future__ import annotations

from typing import BinaryIO

from noisetop.compact import write_compact
from noisetop.recording import Recording

SUFFIXES = (".noisetop",)
HELP = "a recording of noisetop's own, compact"


def write(recording: Recording, out: BinaryIO) -> None:
    """Writes the whole recording without loss."""
    write_compact(recording, out)
