"""Joins the small files of a fleet: one for each table, day and host. No row and no sum changes."""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass

from noisetop.flat_tables import all_tables
from noisetop.fleet.folder import UNFINISHED, Fleet
from noisetop.fleet.partition import join_files, remove_unfinished

_ABANDONED_S = 86_400
"""Age of what an export that was killed has left behind: none takes a day."""


@dataclass(frozen=True, slots=True)
class Compacted:
    """What became of the files of a fleet."""

    before: int
    """How many there were."""
    after: int
    joined: int
    """Folders whose files were joined."""


def compact(fleet: Fleet) -> Compacted:
    """Joins the files of each folder, and removes what writers left behind that were killed.

    Raises NoisetopError; each folder is then as it was, or joined.
    """
    before = _file_count(fleet)
    joined = 0
    with fleet.locked():
        remove_unfinished(fleet.path)
    for table in all_tables():
        for partition in fleet.partitions(table):
            # Others may write between two folders.
            with fleet.locked():
                joined += join_files(partition)
    for one in fleet.path.glob(f"{UNFINISHED}*"):
        if one.stat().st_mtime < time.time() - _ABANDONED_S:
            shutil.rmtree(one, ignore_errors=True)
    return Compacted(before, _file_count(fleet), joined)


def _file_count(fleet: Fleet) -> int:
    return sum(len(fleet.files(table)) for table in all_tables())
