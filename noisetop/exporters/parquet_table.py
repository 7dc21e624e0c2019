"""A table as Parquet, written by DuckDB; docs/tables.md says what is in it.

DuckDB takes a table at a time, so each batch becomes a file of its own in a temporary folder, and
all of these together the one that is asked for: memory stays bounded.
"""

from __future__ import annotations

import glob
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from noisetop.errors import NoisetopError, UsageError
from noisetop.flat_tables import EVENTS, table_named
from noisetop.flat_tables.file_metadata import of_recording
from noisetop.flat_tables.schema import (
    BOOL,
    SCHEMA_VERSION,
    TEXT,
    Batch,
    Column,
    FlatTable,
    Texts,
)
from noisetop.recording.recording import Recording

if TYPE_CHECKING:
    import duckdb

SUFFIXES = (".parquet",)
HELP = "a table as Parquet; takes pip install 'noisetop[tables]'"

SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    # Work is done by the thread that calls, which is on a housekeeping CPU while a run is traced.
    "threads": 1,
    "async_threads": 0,
    "pin_threads": "off",
    "memory_limit": "400MB",
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}
"""Of a database that takes no thread and no file by itself."""
_TYPES = {
    TEXT: "VARCHAR",
    BOOL: "BOOLEAN",
    "uint8": "UTINYINT",
    "uint16": "USMALLINT",
    "uint32": "UINTEGER",
    "uint64": "UBIGINT",
    "int64": "BIGINT",
}
_ABSENT = "absent "
"""Begins the names of the columns that say where there is no value."""


def check_installed() -> None:
    """Raises UsageError where DuckDB is not installed."""
    if find_spec("duckdb") is None:
        raise UsageError("Parquet takes DuckDB: pip install 'noisetop[tables]'")


def write(recording: Recording, out: BinaryIO) -> None:
    """Writes the table of events."""
    write_table(recording, out, EVENTS)


def write_table(recording: Recording, out: BinaryIO, name: str) -> None:
    """Writes the table of that name. Raises NoisetopError when there is no room for it."""
    with parquet_writer() as writer:
        writer.write(table_named(name), recording, out, SCHEMA_VERSION)


class ParquetWriter:
    """Writes tables, one after the other. Made by parquet_writer()."""

    def __init__(self, folder: Path, connection: duckdb.DuckDBPyConnection) -> None:
        self._folder = folder
        self._connection = connection

    def write(self, table: FlatTable, recording: Recording, out: BinaryIO, version: int) -> None:
        """Writes one table; ``version``: of its columns, for the metadata of the file. Raises
        NoisetopError when there is no room for it."""
        import duckdb

        with tempfile.TemporaryDirectory(dir=self._folder) as folder:
            try:
                written = self._write_parts(table, recording, Path(folder), version)
            except duckdb.Error as error:
                line = str(error).splitlines()[0]
                raise NoisetopError(
                    f"DuckDB cannot write the table: {line}: set TMPDIR to a folder with room"
                ) from None
            with written.open("rb") as file:
                shutil.copyfileobj(file, out, 1 << 20)

    def _write_parts(
        self, table: FlatTable, recording: Recording, folder: Path, version: int
    ) -> Path:
        """The file of the whole table."""
        connection, about = self._connection, of_recording(table.name, version, recording)
        parts = []
        for number, batch in enumerate(table.batches(recording)):
            parts.append(folder / f"{number}.parquet")
            connection.register("batch", dict(_arrays(batch)))
            copy(connection, _select(table.columns), parts[-1], about)
            connection.unregister("batch")
        if len(parts) == 1:
            return parts[0]
        whole = folder / "whole.parquet"
        copy(connection, _union(table.columns, parts), whole, about)
        return whole


@contextmanager
def parquet_writer() -> Iterator[ParquetWriter]:
    """A writer with a temporary folder of its own. Raises UsageError where DuckDB is missing."""
    check_installed()
    with (
        tempfile.TemporaryDirectory(prefix="noisetop-") as folder,
        connect(Path(folder)) as connection,
    ):
        yield ParquetWriter(Path(folder), connection)


def connect(folder: Path) -> duckdb.DuckDBPyConnection:
    """A database in memory that reads and writes nothing outside of the folder."""
    import duckdb

    connection = duckdb.connect(":memory:", config=SETTINGS)
    connection.execute(f"SET temp_directory = {literal(str(folder))}")
    # DuckDB judges the names of read_parquet() as they stand, with what escapes a bracket in them.
    allowed = ", ".join(literal(one) for one in (str(folder), glob.escape(str(folder))))
    connection.execute(f"SET allowed_directories = [{allowed}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection


def _arrays(batch: Batch) -> Iterator[tuple[str, Any]]:
    for name, values in batch.items():
        if isinstance(values, Texts):
            yield name, np.array(values.values, object)[values.numbers]
            continue
        yield name, np.ascontiguousarray(np.ma.getdata(values))
        if isinstance(values, np.ma.MaskedArray):
            yield _ABSENT + name, np.ma.getmaskarray(values)


def _select(columns: Sequence[Column]) -> str:
    """The rows of what is registered as ``batch``."""
    cells = []
    for one in columns:
        value = f'"{one.name}"'
        if one.nullable:
            value = f'CASE WHEN "{_ABSENT}{one.name}" THEN NULL ELSE {value} END'
        cells.append(f'CAST({value} AS {_TYPES[one.type]}) AS "{one.name}"')
    return f"SELECT {', '.join(cells)} FROM batch"


def _union(columns: Sequence[Column], parts: Sequence[Path]) -> str:
    """The rows of these files, one file after another."""
    if parts:
        return select_of(parts)
    cells = ", ".join(f'CAST(NULL AS {_TYPES[one.type]}) AS "{one.name}"' for one in columns)
    return f"SELECT {cells} WHERE false"


def select_of(files: Sequence[Path]) -> str:
    """The rows of at least one file of a table, one file after another; without a value where an
    older file lacks a column."""
    names = ", ".join(literal(glob.escape(str(one))) for one in files)
    return f"SELECT * FROM read_parquet([{names}], hive_partitioning = false, union_by_name = true)"


def copy(
    connection: duckdb.DuckDBPyConnection, select: str, to: Path, about: Mapping[str, str]
) -> None:
    """Writes the rows of a statement into a file; ``about``: its metadata."""
    marks = ", ".join(f"{name}: {literal(value)}" for name, value in about.items())
    connection.execute(
        f"COPY ({select}) TO {literal(str(to))} "
        f"(FORMAT parquet, COMPRESSION zstd, KV_METADATA {{{marks}}})"
    )


def literal(text: str) -> str:
    """A text in SQL."""
    return "'" + text.replace("'", "''") + "'"
