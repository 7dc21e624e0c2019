"""A table as CSV, compressed."""

from __future__ import annotations

import gzip
from typing import BinaryIO, cast

from noisetop.exporters import csv_table
from noisetop.flat_tables import EVENTS
from noisetop.recording.recording import Recording

SUFFIXES = (".csv.gz",)
HELP = "the same, compressed"

_FAST = 1


def write(recording: Recording, out: BinaryIO) -> None:
    """Writes the table of events."""
    write_table(recording, out, EVENTS)


def write_table(recording: Recording, out: BinaryIO, name: str) -> None:
    """Writes the table of that name; without a name or a date in the head, so that it is the same
    each time."""
    with gzip.GzipFile("", "wb", _FAST, out, mtime=0) as packed:
        csv_table.write_table(recording, cast(BinaryIO, packed), name)


def check_installed() -> None:
    """It needs nothing else."""
