"""A fleet on disk: ``TABLE/day=…/host=…/RUN.parquet``, and a file that says of which version."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from noisetop.errors import NoisetopError, UsageError
from noisetop.fleet.run import RunHead
from noisetop.fleet.tables import FLEET_VERSION
from noisetop.output import check_output

MARKER = "noisetop-fleet.json"
SUFFIX = ".parquet"
JOINED = "joined-"
"""Begins the names of files that hold several runs."""
HIDDEN = "."
"""Begins the names of folders that are being written; every reader of Parquet passes over them."""
UNFINISHED = f"{HIDDEN}writing-"
"""Begins the names of folders in which files of a run are written before they get their place."""
_LONGEST_NAME = 200
_MAX_MARKER_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class Fleet:
    """A folder that holds a fleet. Made by open_fleet() or create_fleet()."""

    path: Path
    hosts: str
    """What its hosts are called by: noisetop.fleet.run.Anonymity.mark."""

    def partition(self, table: str, head: RunHead) -> Path:
        """Where the rows of a run are."""
        host = quote(head.host.encode(errors="replace"), safe="")
        if len(host) > _LONGEST_NAME:
            host = hashlib.sha256(host.encode()).hexdigest()
        return self.path / table / f"day={head.day}" / f"host={host}"

    def partitions(self, table: str) -> list[Path]:
        """Folders of a table that hold files. Raises NoisetopError where one cannot be read."""
        return sorted({file.parent for file in self.files(table)})

    def files(self, table: str) -> list[Path]:
        """All files of a table, in the order of their names. Raises NoisetopError as above."""
        return sorted(_files(self.path / table))

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Nobody else changes the files of this fleet meanwhile. Raises NoisetopError."""
        try:
            fd = os.open(self.path / MARKER, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise NoisetopError(f"cannot read {self.path / MARKER}: {error.strerror}") from None
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            yield
        finally:
            os.close(fd)


def _files(folder: Path) -> Iterator[Path]:
    """Files of Parquet below a folder, none of those that are being written."""
    try:
        with os.scandir(folder) as found:
            entries = [one for one in found if not one.name.startswith((HIDDEN, "_"))]
    except FileNotFoundError:
        return
    except OSError as error:
        raise NoisetopError(f"cannot read {folder}: {error.strerror}") from None
    for one in entries:
        if one.is_dir():
            yield from _files(Path(one.path))
        elif one.name.endswith(SUFFIX):
            yield Path(one.path)


def is_fleet(path: Path) -> bool:
    """Whether a folder holds a fleet."""
    return (path / MARKER).is_file()


def open_fleet(path: Path) -> Fleet:
    """The fleet in a folder. Raises NoisetopError where there is none that can be read."""
    try:
        with (path / MARKER).open("rb") as file:
            content = file.read(_MAX_MARKER_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        raise UsageError(_no_fleet(path)) from None
    except OSError as error:
        raise NoisetopError(f"cannot read {path / MARKER}: {error.strerror}") from None
    return Fleet(path, hosts_of_marker(content, str(path)))


def hosts_of_marker(content: bytes, where: str) -> str:
    """What the hosts of a fleet are called by, by the content of its marker. Raises NoisetopError
    where it is damaged or of another version."""
    try:
        about = json.loads(content)
        version, hosts = about["fleet_version"], about["hosts"]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise NoisetopError(f"{where}/{MARKER} is damaged: export to another folder") from None
    if version != FLEET_VERSION:
        raise NoisetopError(
            f"{where} is of version {version!r} of the tables, this noisetop reads "
            f"{FLEET_VERSION}: export the recordings again to another folder"
        )
    return str(hosts)


def _no_fleet(path: Path) -> str:
    if path.is_dir():
        return f"{path} holds no fleet: noisetop export FILE -o {path}/ writes one"
    if path.exists():
        return f"{path} is a file: noisetop export {path} -o DIR/, then give DIR"
    return f"there is no folder {path}: noisetop export FILE -o {path}/ writes one"


def open_fleets(paths: Sequence[Path]) -> list[Fleet]:
    """The fleets in several folders, each once. Raises NoisetopError, also where their hosts are
    not called alike."""
    fleets = list({path.resolve(): open_fleet(path) for path in paths}.values())
    check_names(one.hosts for one in fleets)
    return fleets


def check_names(hosts: Iterable[str]) -> None:
    """Raises UsageError where the hosts of several fleets are not called alike."""
    if len(set(hosts)) > 1:
        raise UsageError(
            "the folders name their hosts in different ways: export all of them with the same "
            "--hash-hosts and --hash-key"
        )


def create_fleet(path: Path, hosts: str) -> Fleet:
    """The fleet in a folder, which is made where there is none. ``hosts``: what its hosts are
    called by. Raises NoisetopError, also where the folder holds anything else."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        empty = all(one.name.startswith(HIDDEN) for one in path.iterdir())
    except OSError as error:
        raise UsageError(f"cannot write to {path}: {error.strerror}: choose another") from None
    if not is_fleet(path):
        if not empty:
            raise UsageError(f"{path} holds other files: give an empty folder or a new one")
        _write_marker(path, hosts)
    fleet = open_fleet(path)
    if fleet.hosts != hosts:
        raise UsageError(
            f"the hosts in {path} are named in another way: use the same --hash-hosts and "
            "--hash-key as for the runs in it, or choose another folder"
        )
    return fleet


def _write_marker(path: Path, hosts: str) -> None:
    content = json.dumps({"fleet_version": FLEET_VERSION, "hosts": hosts}) + "\n"
    # Of two that begin a fleet at once the second finds the first one's.
    with contextlib.suppress(UsageError), check_output(path / MARKER, force=False).opened() as out:
        out.write(content.encode())
