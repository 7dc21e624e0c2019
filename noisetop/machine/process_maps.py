"""Which files the code of a process is from: /proc/PID/maps."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable
from dataclasses import dataclass

from noisetop.machine.files import Files

_MOST = 1 << 16
"""Mappings that a process may have; more are left out."""
_LINE = re.compile(
    r"(?P<start>[0-9a-f]{1,16})-(?P<end>[0-9a-f]{1,16}) [r-][w-](?P<executable>[x-])[ps] "
    r"(?P<offset>[0-9a-f]{1,16}) (?P<device>\S+) (?P<inode>\d{1,20})(?: +(?P<path>.*))?"
)
_DELETED = " (deleted)"


@dataclass(frozen=True, slots=True)
class Mapping:
    """Code of a process. Its path is untrusted."""

    start: int
    end: int
    offset: int
    """Of ``start`` in the file, in bytes."""
    device: str
    inode: int
    """0: it is no file."""
    path: str
    """As the process sees it, or ``[vdso]``; empty: anonymous."""

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition("/")[2]


def parse_maps(text: str) -> tuple[Mapping, ...]:
    """The executable mappings in the text of /proc/PID/maps; lines of another form are left out."""
    found = []
    for line in text.split("\n", _MOST)[:_MOST]:
        match = _LINE.fullmatch(line)
        if match and match["executable"] == "x":
            start, end, offset = (int(match[name], 16) for name in ("start", "end", "offset"))
            path = (match["path"] or "").replace("\\012", "\n").removesuffix(_DELETED)
            inode = int(match["inode"])
            found.append(Mapping(start, end, offset, match["device"], inode, path))
    return tuple(found)


def read_maps(tid: int, files: Files) -> tuple[Mapping, ...]:
    """Those of the process of a thread; empty when it is gone, or may not be read."""
    return parse_maps(files.read_again(f"/proc/{tid}/maps").text)


def mapping_at(maps: Iterable[Mapping], address: int) -> Mapping | None:
    """That which holds an address."""
    return next((one for one in maps if one.start <= address < one.end), None)


def path_here(tid: int, mapping: Mapping, files: Files) -> str:
    """A name of the mapped file in our own mount namespace."""
    try:
        if files.stat(mapping.path).st_ino == mapping.inode:
            return mapping.path
    except (OSError, ValueError):
        pass
    return f"/proc/{tid}/root{mapping.path}"


def open_mapped(tid: int, mapping: Mapping, files: Files) -> int:
    """A descriptor of the mapped file, also where it was deleted or lies in a container; -1: it
    cannot be opened any more."""
    mapped = f"/proc/{tid}/map_files/{mapping.start:x}-{mapping.end:x}"
    for path in (mapped, f"/proc/{tid}/root{mapping.path}"):
        try:
            fd = files.open(path)
        except (OSError, ValueError):
            continue
        about = os.fstat(fd)
        if stat.S_ISREG(about.st_mode) and about.st_ino == mapping.inode:
            return fd
        os.close(fd)
    return -1
