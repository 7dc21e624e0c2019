"""The files of one table, day and host: one for each run, or one for many of them.

A folder whose files are joined is written anew beside the old one, and both change places at once.
Killed at any moment, each row is there once.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from noisetop.errors import NoisetopError
from noisetop.exporters.parquet_table import connect, copy, literal, select_of
from noisetop.flat_tables.file_metadata import of_table
from noisetop.fleet.exchange import exchange
from noisetop.fleet.folder import HIDDEN, JOINED, SUFFIX
from noisetop.fleet.tables import FLEET_VERSION

_JOINING = f"{HIDDEN}joining-"
"""Begins the names of folders that are written anew."""


def publish(written: Path, partition: Path, run: str) -> None:
    """Moves the file of a run to its place, instead of what is there of that run. The fleet is
    locked. Raises NoisetopError."""
    joined = [one for one in _files(partition) if one.name.startswith(JOINED)]
    with _told(partition):
        if not joined or not _holds(joined, run):
            written.replace(partition / f"{run}{SUFFIX}")
            return
        with _rewritten(partition) as folder:
            rest = folder / _joined_name()
            _join(joined, rest, f"run <> {literal(run)}")
            for one in _files(partition):
                if one not in joined:
                    os.link(one, folder / one.name)
            written.replace(folder / f"{run}{SUFFIX}")


def join_files(partition: Path) -> bool:
    """Joins the files of several runs; whether there was anything to join. The fleet is locked.
    Raises NoisetopError, and then nothing has changed."""
    files = _files(partition)
    if len(files) < 2:
        return False
    with _told(partition), _rewritten(partition) as folder:
        _join(files, folder / _joined_name(), "true")
    return True


def remove_unfinished(fleet: Path) -> None:
    """Removes the folders that a writer left behind which was killed. The fleet is locked."""
    for one in fleet.glob(f"{_JOINING}*"):
        shutil.rmtree(one, ignore_errors=True)


def _files(partition: Path) -> list[Path]:
    return sorted(
        one for one in partition.glob(f"*{SUFFIX}") if not one.name.startswith((HIDDEN, "_"))
    )


def _joined_name() -> str:
    return f"{JOINED}{os.urandom(8).hex()}{SUFFIX}"


@contextmanager
def _told(partition: Path) -> Iterator[None]:
    """What goes wrong becomes one line."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        line = str(error).splitlines()[0]
        raise NoisetopError(f"DuckDB cannot join {partition}: {line}") from None
    except OSError as error:
        raise NoisetopError(f"cannot write to {partition}: {error.strerror}") from None


@contextmanager
def _rewritten(partition: Path) -> Iterator[Path]:
    """A new folder that takes the place of the old one when the block ends without an error."""
    # Where nobody looks who reads the whole folder of a table.
    folder = partition.parents[2] / f"{_JOINING}{os.urandom(8).hex()}"
    folder.mkdir(mode=partition.stat().st_mode & 0o777)
    try:
        yield folder
        for one in folder.iterdir():
            _flush(one)
        exchange(folder, partition)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _flush(path: Path) -> None:
    """What takes the place of older files is on the disk before they go."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _holds(files: Sequence[Path], run: str) -> bool:
    with connect(files[0].parent) as connection:
        rows = f"SELECT 1 FROM ({select_of(files)}) WHERE run = {literal(run)} LIMIT 1"
        return bool(connection.execute(rows).fetchall())


def _join(files: Sequence[Path], to: Path, which: str) -> None:
    """The rows of these files that meet a condition, as one file of the same table."""
    about = of_table(files[0].parents[2].name, FLEET_VERSION)
    with connect(files[0].parents[3]) as connection:
        copy(connection, f"SELECT * FROM ({select_of(files)}) WHERE {which}", to, about)
