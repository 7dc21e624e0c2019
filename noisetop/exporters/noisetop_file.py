"""A recording of ours again, at a fraction of the size: what ``record`` writes is fast to write."""

from __future__ import annotations

from typing import BinaryIO

from noisetop.recording.compact_file import write_compact
from noisetop.recording.open import SUFFIX
from noisetop.recording.recording import Recording

SUFFIXES = (SUFFIX,)
HELP = "a recording of noisetop's own, compact"


def write(recording: Recording, out: BinaryIO) -> None:
    """Writes the whole recording without loss."""
    write_compact(recording, out)
