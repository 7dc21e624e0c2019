"""Control groups: where their file systems are mounted, and the directories of a process.

Most works on the text of /proc/mounts and /proc/PID/cgroup, so that everybody reads these in their
way.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

_DEEPEST = 32
"""Levels of a path that are followed: a bound for text that makes no sense."""
_MOST_GROUPS = 65536


def cgroup2_mount(mounts: str) -> str:
    """Where cgroup v2 is mounted by /proc/mounts; empty when it is not."""
    return next((place for place, kind, _ in _mounts(mounts) if kind == "cgroup2"), "")


def cgroup_directories(memberships: str, mounts: str, controller: str) -> list[str]:
    """Directories of the control group that holds a process and of its parents, innermost first.

    ``memberships`` is the text of /proc/PID/cgroup. Of cgroup v1 where a hierarchy of its own
    carries the controller, else of v2; empty where neither is mounted.
    """
    paths: dict[str, str] = {}
    for line in memberships.splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        for name in controllers.split(","):
            paths[name] = path
    if controller in paths:
        base, path = _cgroup1_mount(mounts, controller), paths[controller]
    else:
        base, path = cgroup2_mount(mounts), paths.get("", "")
    steps = [step for step in path.split("/") if step and step != ".."][:_DEEPEST]
    directories = ["/".join([base, *steps[:depth]]) for depth in range(len(steps), -1, -1)]
    return directories if base else []


def _cgroup1_mount(mounts: str, controller: str) -> str:
    for place, kind, options in _mounts(mounts):
        if kind == "cgroup" and controller in options.split(","):
            return place
    return f"/sys/fs/cgroup/{controller}"


def _mounts(text: str) -> list[tuple[str, str, str]]:
    """Mount point, kind and options of each file system of /proc/mounts."""
    lines = (line.split() for line in text.splitlines())
    return [(fields[1], fields[2], fields[3]) for fields in lines if len(fields) > 3]


def paths_by_id(wanted: Iterable[int], root: Path) -> dict[int, str]:
    """Paths of control groups (v2) by their ids, as far as they exist. ``root``: where the file
    system is mounted; the id of a group is the number of its folder."""
    missing = set(wanted)
    found: dict[int, str] = {}
    folders = [("", root)]
    if (number := number_of(root)) in missing:
        found[number] = "/"
    for path, folder in folders:
        if missing <= found.keys() or len(folders) > _MOST_GROUPS:
            break
        for name, number in _folders_in(folder):
            below = f"{path}/{os.fsencode(name).decode(errors='replace')}"
            folders.append((below, folder / name))
            if number in missing:
                found[number] = below
    return found


def number_of(folder: Path) -> int:
    """Id of the control group (v2) of a folder; 0 where there is none."""
    try:
        return folder.stat().st_ino
    except (OSError, ValueError):  # gone, or no name of a file
        return 0


def _folders_in(folder: Path) -> list[tuple[str, int]]:
    try:
        with os.scandir(folder) as entries:
            return [
                (entry.name, entry.inode())
                for entry in entries
                if entry.is_dir(follow_symlinks=False)
            ]
    except OSError:  # went meanwhile
        return []
