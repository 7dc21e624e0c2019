"""DuckDB, inside of this process: with the threads that it is given, on the CPUs of the caller."""

from __future__ import annotations

import glob
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from noisetop.errors import NoisetopError, UsageError
from noisetop.exporters.parquet_table import SETTINGS, literal
from noisetop.fleet.engines import AnyFleet, EngineSettings
from noisetop.fleet.folder import Fleet
from noisetop.fleet.stored import StoredFleet

if TYPE_CHECKING:
    import duckdb
    import narwhals.stable.v2 as nw

NAME = "duckdb"
_AZURE = ("abfss", "az", "azure")
_MEMORY = "1500MB"
"""What does not fit goes to a temporary folder."""


class DuckDbEngine:
    """A database in memory that reads the folders of some fleets, and nothing else."""

    def __init__(self, fleets: Sequence[AnyFleet], connection: duckdb.DuckDBPyConnection) -> None:
        self._fleets = fleets
        self._connection = connection

    def scan(self, table: str) -> nw.LazyFrame[Any]:
        """All rows of a table. Raises NoisetopError where there are none."""
        import narwhals.stable.v2 as nw

        local = [fleet for fleet in self._fleets if isinstance(fleet, Fleet)]
        files = [file for fleet in local for file in fleet.files(table)]
        stored = [one.pattern(table) for one in self._fleets if isinstance(one, StoredFleet)]
        if not files and not stored:
            folders = ", ".join(str(fleet.path) for fleet in local)
            raise NoisetopError(f"{folders} holds no {table}: noisetop export FILE -o DIR/")
        patterns = [*(glob.escape(str(file.resolve())) for file in files), *stored]
        names = ", ".join(map(literal, patterns))
        with _told():
            rows = self._connection.sql(
                f"SELECT * FROM read_parquet([{names}], hive_partitioning = false)"
            )
        return nw.from_native(rows)

    def text(self, url: str) -> str:
        """The content of a small file of a stored fleet. Raises NoisetopError."""
        with _told():
            rows = self._connection.execute(
                f"SELECT content FROM read_text({literal(glob.escape(url))})"
            ).fetchall()
        return "".join(content for (content,) in rows)

    def units(self, unit_of: Mapping[str, int]) -> nw.LazyFrame[Any]:
        """A table of two columns: ``run``, and ``unit``, a number for each run."""
        import narwhals.stable.v2 as nw

        name = "units"
        runs, units = np.array(list(unit_of), object), np.array(list(unit_of.values()), np.int64)
        self._connection.register(name, {"run": runs, "unit": units})
        return nw.from_native(self._connection.sql(f"SELECT * FROM {name}"))

    def rows(self, frame: nw.LazyFrame[Any]) -> list[tuple[Any, ...]]:
        """Computes a frame. Raises NoisetopError where a file is damaged or there is no room."""
        relation: duckdb.DuckDBPyRelation = frame.to_native()
        with _told():
            return relation.fetchall()


@contextmanager
def _told() -> Iterator[None]:
    """An error of DuckDB becomes one line."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        line = str(error).splitlines()[0]
        raise NoisetopError(f"DuckDB cannot read the tables: {line}") from None


@contextmanager
def open_engine(fleets: Sequence[AnyFleet], settings: EngineSettings) -> Iterator[DuckDbEngine]:
    """An engine over these fleets. Raises UsageError where DuckDB is not installed."""
    if find_spec("duckdb") is None:
        raise UsageError("fleets take DuckDB: pip install 'noisetop[fleet]'")
    import duckdb

    config = {**SETTINGS, "threads": settings.threads, "memory_limit": _MEMORY}
    with (
        tempfile.TemporaryDirectory(prefix="noisetop-") as folder,
        duckdb.connect(":memory:", config=config) as connection,
    ):
        readable = [str(one.path.resolve()) for one in fleets if isinstance(one, Fleet)]
        for one in fleets:
            if isinstance(one, StoredFleet):
                _load_reader(connection, one)
                readable.append(f"{one.url}/")
        _confine(connection, [folder, *readable])
        # Of a stored fleet it reads already while a question is put together.
        with _told():
            yield DuckDbEngine(fleets, connection)


def _load_reader(connection: duckdb.DuckDBPyConnection, fleet: StoredFleet) -> None:
    """Raises UsageError where DuckDB cannot read that and what can is not installed."""
    import duckdb

    if fleet.scheme == "file":
        return
    extension = "azure" if fleet.scheme in _AZURE else "httpfs"
    try:
        connection.execute(f"LOAD {extension}")
    except duckdb.Error:
        raise UsageError(
            f"{fleet.url} takes DuckDB's extension {extension}, which is no part of it: "
            f"INSTALL {extension} in DuckDB, or mount the store and give the folder"
        ) from None
    # The user's own are read before it is confined.
    connection.execute("FROM duckdb_secrets()")


def _confine(connection: duckdb.DuckDBPyConnection, names: Sequence[str]) -> None:
    """It writes into the first folder and reads the others."""
    allowed = ", ".join(literal(one) for one in [*names, *map(glob.escape, names)])
    connection.execute(f"SET temp_directory = {literal(names[0])}")
    # Rows are only summed: their order takes memory.
    connection.execute("SET preserve_insertion_order = false")
    connection.execute(f"SET allowed_directories = [{allowed}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
