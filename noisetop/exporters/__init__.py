"""What a recording can be written as: one module each, with SUFFIXES, HELP and write()."""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol, cast, runtime_checkable

from noisetop.errors import UsageError
from noisetop.output import PRIVATE, PUBLIC, Output, check_output
from noisetop.recording.open import SUFFIX
from noisetop.recording.recording import Recording


class Exporter(Protocol):
    """What a module in this package offers."""

    SUFFIXES: tuple[str, ...]
    """Ends of file names that ask for it."""
    HELP: str

    def write(self, recording: Recording, out: BinaryIO) -> None:
        """Writes the whole recording, in bounded memory; the same input gives the same bytes."""


@runtime_checkable
class TableExporter(Protocol):
    """What such a module offers as well, where its files hold one of several tables."""

    def write_table(self, recording: Recording, out: BinaryIO, name: str) -> None:
        """Writes the table of noisetop.flat_tables of that name, as write() does."""

    def check_installed(self) -> None:
        """Raises UsageError where a package that it takes is not installed."""


def exporter_names() -> list[str]:
    """Names of the modules."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__) if module.name[0] != "_")


def load_exporter(name: str) -> Exporter:
    """The exporter of one module."""
    return cast(Exporter, importlib.import_module(f"{__name__}.{name}"))


def exporters_by_suffix() -> dict[str, Exporter]:
    """Every exporter by every suffix that asks for it."""
    exporters = map(load_exporter, exporter_names())
    return {suffix: one for one in exporters for suffix in one.SUFFIXES}


def _exporter_for(path: Path) -> Exporter:
    known = exporters_by_suffix()
    matching = [suffix for suffix in known if path.name.lower().endswith(suffix)]
    if not matching:
        raise UsageError(f"what format is {path}? end its name in {' '.join(sorted(known))}")
    return known[max(matching, key=len)]


@dataclass(frozen=True, slots=True)
class RecordingOutput:
    """Where a recording is written, and as what. Made by recording_output()."""

    output: Output
    exporter: Exporter
    table: str | None = None
    """Which table; None: the one that the format is for."""

    def write(self, recording: Recording) -> None:
        """Writes the whole file. Raises NoisetopError."""
        with self.output.opened() as out:
            if self.table is not None and isinstance(self.exporter, TableExporter):
                self.exporter.write_table(recording, out, self.table)
            else:
                self.exporter.write(recording, out)


def recording_output(path: Path, *, force: bool, table: str | None = None) -> RecordingOutput:
    """The output of that name, in the format that its end says; ``table``: which table.

    Raises UsageError when the name says nothing, is taken and ``force`` is not set, or cannot be,
    when the format takes a package that is not installed, and when it holds no tables.
    """
    mode = PRIVATE if path.suffix == SUFFIX else PUBLIC
    output = check_output(path, force=force, mode=mode)
    exporter = _exporter_for(path)
    if isinstance(exporter, TableExporter):
        exporter.check_installed()
    elif table is not None:
        raise UsageError(f"{path} holds no table: --table takes .csv, .csv.gz or .parquet")
    return RecordingOutput(output, exporter, table)
