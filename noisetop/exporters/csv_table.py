"""A table as CSV of RFC 4180; docs/tables.md says what is in it."""

from __future__ import annotations

from typing import BinaryIO

from noisetop.exporters._behind import writing_behind
from noisetop.exporters._csv_rows import csv_rows
from noisetop.flat_tables import EVENTS, table_named
from noisetop.recording.recording import Recording

SUFFIXES = (".csv",)
HELP = "a table as CSV: by default a row for each interruption"


def write(recording: Recording, out: BinaryIO) -> None:
    """Writes the table of events."""
    write_table(recording, out, EVENTS)


def write_table(recording: Recording, out: BinaryIO, name: str) -> None:
    """Writes the table of that name, after a line with the names of its columns."""
    table = table_named(name)
    with writing_behind(out) as behind:
        behind.write(",".join(column.name for column in table.columns).encode() + b"\r\n")
        for batch in table.batches(recording):
            behind.writelines(csv_rows(batch))


def check_installed() -> None:
    """It needs nothing else."""
