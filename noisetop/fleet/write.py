"""Writes a recording into a fleet."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

from noisetop.errors import NoisetopError
from noisetop.exporters.parquet_table import ParquetWriter
from noisetop.fleet.folder import SUFFIX, UNFINISHED, Fleet
from noisetop.fleet.partition import publish
from noisetop.fleet.run import Anonymity, RunHead, run_head
from noisetop.fleet.tables import ALWAYS, EVENTS, FLEET_VERSION, fleet_tables
from noisetop.output import check_output
from noisetop.recording.recording import Recording


def write_run(
    fleet: Fleet,
    recording: Recording,
    writer: ParquetWriter,
    *,
    labels: Mapping[str, str],
    anonymity: Anonymity,
    events: bool,
) -> RunHead:
    """Writes the tables of a run, instead of what the fleet has of the same run; its head.

    ``events``: also the table of events. Raises NoisetopError.
    """
    head = run_head(recording, labels, anonymity)
    names = ((EVENTS,) if events else ()) + ALWAYS
    try:
        # On the same file system, so that a file moves to its place at once.
        with tempfile.TemporaryDirectory(prefix=UNFINISHED, dir=fleet.path) as folder:
            for name in names:
                file = Path(folder) / f"{name}{SUFFIX}"
                with check_output(file, force=False).opened() as out:
                    writer.write(fleet_tables(head)[name], recording, out, FLEET_VERSION)
            with fleet.locked():
                for name in names:
                    partition = fleet.partition(name, head)
                    partition.mkdir(parents=True, exist_ok=True)
                    publish(Path(folder) / f"{name}{SUFFIX}", partition, head.run)
    except OSError as error:
        raise NoisetopError(f"cannot write to {fleet.path}: {error.strerror}") from None
    return head
