"""DuckDB, inside of this process: with the threads that it is given, on the CPUs of the caller."""

from __future__ import annotations

import glob
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from noisetop.errors import NoisetopError, UsageError
from noisetop.exporters.parquet_table import SETTINGS, literal
from noisetop.fleet.engines import EngineSettings
from noisetop.fleet.folder import Fleet

if TYPE_CHECKING:
    import duckdb
    import narwhals.stable.v2 as nw

NAME = "duckdb"
_MEMORY = "1500MB"
"""What does not fit goes to a temporary folder."""


class DuckDbEngine:
    """A database in memory that reads the folders of some fleets, and nothing else."""

    def __init__(self, fleets: Sequence[Fleet], connection: duckdb.DuckDBPyConnection) -> None:
        self._fleets = fleets
        self._connection = connection

    def scan(self, table: str) -> nw.LazyFrame[Any]:
        """All rows of a table. Raises NoisetopError where there are none."""
        import narwhals.stable.v2 as nw

        files = [file for fleet in self._fleets for file in fleet.files(table)]
        if not files:
            folders = ", ".join(str(fleet.path) for fleet in self._fleets)
            raise NoisetopError(f"{folders} holds no {table}: noisetop export FILE -o DIR/")
        names = ", ".join(literal(glob.escape(str(file.resolve()))) for file in files)
        with _told():
            rows = self._connection.sql(
                f"SELECT * FROM read_parquet([{names}], hive_partitioning = false)"
            )
        return nw.from_native(rows)

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
def open_engine(fleets: Sequence[Fleet], settings: EngineSettings) -> Iterator[DuckDbEngine]:
    """An engine over these fleets. Raises UsageError where DuckDB is not installed."""
    if find_spec("duckdb") is None:
        raise UsageError("fleets take DuckDB: pip install 'noisetop[fleet]'")
    import duckdb

    config = {**SETTINGS, "threads": settings.threads, "memory_limit": _MEMORY}
    with (
        tempfile.TemporaryDirectory(prefix="noisetop-") as folder,
        duckdb.connect(":memory:", config=config) as connection,
    ):
        _confine(connection, Path(folder), [fleet.path.resolve() for fleet in fleets])
        yield DuckDbEngine(fleets, connection)


def _confine(connection: duckdb.DuckDBPyConnection, folder: Path, readable: Sequence[Path]) -> None:
    """It writes into one folder and reads some others."""
    names = [str(path) for path in (folder, *readable)]
    allowed = ", ".join(literal(one) for one in [*names, *map(glob.escape, names)])
    connection.execute(f"SET temp_directory = {literal(str(folder))}")
    # Rows are only summed: their order takes memory.
    connection.execute("SET preserve_insertion_order = false")
    connection.execute(f"SET allowed_directories = [{allowed}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
