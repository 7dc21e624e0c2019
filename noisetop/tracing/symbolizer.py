"""Names addresses in ELF files with elfutils' libdw. noisetop.tracing.user_stacks runs it.

A process of its own: files of the programs that were traced are not trusted, and whatever they make
of the library must not end a recording. Takes ``{"libdw", "files": [{"fd", "path", "offsets"}]}``
as JSON, writes ``[[[name, source file, line], …], …]``: for each offset in a file, null where the
file does not tell. The exit status is 3 where there is no libdw.
"""

import ctypes
import json
import os
import struct
import sys
from collections.abc import Callable
from pathlib import PurePosixPath

NO_LIBRARY = 3
_LOAD = 1
_PAGE = 4096
_LONGEST = 120
Told = list[str | int | None]
_CALLBACKS = (
    "dwfl_build_id_find_elf",
    "dwfl_standard_find_debuginfo",
    "dwfl_offline_section_address",
)
_STRING, _POINTER = ctypes.c_char_p, ctypes.c_void_p
_ADDRESS = ctypes.c_uint64
_TYPES = {
    "dwfl_begin": (_POINTER, (_POINTER,)),
    "dwfl_end": (None, (_POINTER,)),
    "dwfl_report_begin": (None, (_POINTER,)),
    "dwfl_report_elf": (
        _POINTER,
        (_POINTER, _STRING, _STRING, ctypes.c_int, _ADDRESS, ctypes.c_bool),
    ),
    "dwfl_report_end": (ctypes.c_int, (_POINTER, _POINTER, _POINTER)),
    "dwfl_module_addrname": (_STRING, (_POINTER, _ADDRESS)),
    "dwfl_module_getsrc": (_POINTER, (_POINTER, _ADDRESS)),
    "dwfl_lineinfo": (
        _STRING,
        (_POINTER, _POINTER, ctypes.POINTER(ctypes.c_int), _POINTER, _POINTER, _POINTER),
    ),
}


class Callbacks(ctypes.Structure):
    """Dwfl_Callbacks of elfutils/libdwfl.h."""

    _fields_ = [(name, _POINTER) for name in ("elf", "debuginfo", "section", "path")]


def _library(name: str) -> ctypes.CDLL:
    library = ctypes.CDLL(name)
    for function, (result, arguments) in _TYPES.items():
        getattr(library, function).restype = result
        getattr(library, function).argtypes = arguments
    return library


def _demangler() -> Callable[[bytes], bytes]:
    """What turns the names of C++ functions into readable ones; as they are without its library."""
    try:
        demangle = ctypes.CDLL("libstdc++.so.6").__cxa_demangle
    except (OSError, AttributeError):
        return lambda name: name
    demangle.restype = _POINTER
    demangle.argtypes = (_STRING, _POINTER, _POINTER, ctypes.POINTER(ctypes.c_int))
    free = ctypes.CDLL(None).free
    free.argtypes = (_POINTER,)

    def readable(name: bytes) -> bytes:
        status = ctypes.c_int()
        text = demangle(name, None, None, ctypes.byref(status)) if name.startswith(b"_Z") else None
        if not text:
            return name
        plain = ctypes.string_at(text)
        free(text)
        return plain

    return readable


def _segments(fd: int) -> list[tuple[int, int, int]]:
    """Offset, size and address of what is loaded of a 64-bit little-endian ELF file."""
    head = os.pread(fd, 64, 0)
    if len(head) < 64 or head[:6] != b"\x7fELF\x02\x01":
        return []
    (offset,) = struct.unpack_from("<Q", head, 32)
    size, count = struct.unpack_from("<HH", head, 54)
    found = []
    for number in range(count if size >= 56 else 0):
        row = os.pread(fd, 56, offset + number * size)
        if len(row) < 56:
            break
        kind, _, place, address, _, length, _, _ = struct.unpack("<IIQQQQQQ", row)
        if kind == _LOAD:
            found.append((place, length, address))
    return found


def _address(segments: list[tuple[int, int, int]], offset: int) -> int | None:
    """Where an offset in a file is loaded, as the file numbers addresses; None: nowhere."""
    for place, length, address in segments:
        if place - place % _PAGE <= offset < place + length:
            return offset - place + address
    return None


class Namer:
    """Asks libdw about one file after the other."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._lib = library
        self._readable = _demangler()
        places = [ctypes.cast(getattr(library, name), _POINTER) for name in _CALLBACKS]
        self._callbacks = Callbacks(*places, None)

    def names(self, fd: int, path: str, offsets: list[int]) -> list[Told | None]:
        """One answer for each offset."""
        lib, segments = self._lib, _segments(fd)
        dwfl = lib.dwfl_begin(ctypes.byref(self._callbacks))
        lib.dwfl_report_begin(dwfl)
        # It closes the descriptor.
        name = os.fsencode(path)
        module = lib.dwfl_report_elf(dwfl, name, name, os.dup(fd), 0, True)
        lib.dwfl_report_end(dwfl, None, None)
        addresses = [_address(segments, offset) for offset in offsets]
        told = [
            self._name(module, one) if module and one is not None else None for one in addresses
        ]
        lib.dwfl_end(dwfl)
        return told

    def _name(self, module: int, address: int) -> Told:
        name = self._lib.dwfl_module_addrname(module, address)
        line = ctypes.c_int()
        source = self._lib.dwfl_module_getsrc(module, address)
        file = source and self._lib.dwfl_lineinfo(
            source, None, ctypes.byref(line), None, None, None
        )
        return [
            _text(self._readable(name)) if name else None,
            PurePosixPath(_text(file)).name if file else None,
            line.value,
        ]


def _text(name: bytes) -> str:
    text = name.decode(errors="replace")
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"


def main() -> int:
    """The exit status; see above."""
    request = json.load(sys.stdin)
    try:
        namer = Namer(_library(request["libdw"]))
    except (OSError, AttributeError):
        return NO_LIBRARY
    json.dump(
        [namer.names(one["fd"], one["path"], one["offsets"]) for one in request["files"]],
        sys.stdout,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
