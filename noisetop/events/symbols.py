"""Names of kernel functions, from /proc/kallsyms, modules included."""

from __future__ import annotations

import re
import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from pathlib import Path

KALLSYMS = Path("/proc/kallsyms")
_TEXT_LINE = re.compile(rb"^[0-9a-fA-F]+ [tTwW] .*$", re.MULTILINE)
_MAX_UNPACKED_BYTES = 256 << 20


class SymbolTable:
    """Function names by address, kept as the lines of kallsyms.

    Most addresses are those of a function's first byte and are found in the text as they are;
    the lines are parsed only for the others, once, and only of a complete table: in one that holds
    chosen functions, the nearest one below an address need not be the one that holds it.
    """

    def __init__(self, lines: bytes = b"", *, complete: bool = True) -> None:
        self._lines = lines
        self._complete = complete
        self._names: dict[int, str] = {}
        self._parsed: tuple[list[int], list[bytes]] | None = None

    def __bool__(self) -> bool:
        return bool(self._lines)

    def name(self, address: int) -> str:
        """The function that holds ``address``, or the address in hexadecimal.

        Of several names at one address it is the one that the kernel lists first.
        """
        if address not in self._names:
            self._names[address] = self._exact(address) or self._nearest(address) or f"{address:#x}"
        return self._names[address]

    def _exact(self, address: int) -> str:
        if self._parsed is not None:
            addresses, lines = self._parsed
            at = bisect_left(addresses, address)
            return _name_of(lines[at]) if addresses[at : at + 1] == [address] else ""
        key = b"%016x " % address
        at = _first_line_from(self._lines, key)
        if not self._lines.startswith(key, at):  # modules come last, in no order
            at = 0 if self._lines.startswith(key) else self._lines.find(b"\n" + key) + 1
        if not self._lines.startswith(key, at):
            return ""
        return _name_of(self._lines[at : self._lines.find(b"\n", at)])

    def _nearest(self, address: int) -> str:
        if not self._complete:
            return ""
        if self._parsed is None:
            lines = self._lines.splitlines()
            lines.sort(key=_address_of)
            self._parsed = [_address_of(line) for line in lines], lines
        addresses, lines = self._parsed
        at = bisect_right(addresses, address) - 1
        return _name_of(lines[at]) if at >= 0 and addresses[at] else ""

    def address(self, name: str) -> int:
        """Address of a function by its name, 0 when there is none."""
        end = self._lines.find(f" {name}\n".encode())
        if end < 0:
            return 0
        return _address_of(self._lines[self._lines.rfind(b"\n", 0, end) + 1 : end])

    def subset(self, addresses: Iterable[int]) -> SymbolTable:
        """An incomplete table that names just these addresses as this one does, where it can."""
        lines = (
            f"{address:016x} t {name}\n"
            for address in addresses
            if (name := self.name(address)) != f"{address:#x}"
        )
        return SymbolTable("".join(lines).encode(), complete=False)

    def joined(self, other: SymbolTable, *, complete: bool) -> SymbolTable:
        """Both tables in one. Raises ValueError on more than 256 MiB."""
        if len(self._lines) + len(other._lines) > _MAX_UNPACKED_BYTES:
            raise ValueError("symbol tables are too large")
        return SymbolTable(self._lines + other._lines, complete=complete)

    def pack(self) -> bytes:
        """The table as compressed bytes, for a recording."""
        return zlib.compress(self._lines, level=1)

    @classmethod
    def unpack(cls, packed: bytes) -> SymbolTable:
        """Inverse of pack(). Raises ValueError on anything else, and on more than 256 MiB."""
        decompressor = zlib.decompressobj()
        try:
            lines = decompressor.decompress(packed, _MAX_UNPACKED_BYTES)
        except zlib.error as error:
            raise ValueError(f"symbol table does not unpack: {error}") from None
        if not decompressor.eof:
            raise ValueError("symbol table does not unpack: it is too large or cut short")
        return cls(b"".join(line + b"\n" for line in _TEXT_LINE.findall(lines)))


def _first_line_from(lines: bytes, key: bytes) -> int:
    """Where the first line that is not less than ``key`` begins, if the lines are in order; looking
    through a megabyte of them for each function takes a hundred times as long."""
    first, end = 0, len(lines)
    while first < end:
        middle = (first + end) // 2
        start = max(first, lines.rfind(b"\n", first, middle) + 1)
        if lines[start : start + len(key)] < key:
            first = lines.find(b"\n", middle) + 1 or end
        else:
            end = start
    return first


def _address_of(line: bytes) -> int:
    return int(line.split(b" ", 1)[0], 16)


def _name_of(line: bytes) -> str:
    fields = line.split(None, 3)
    return fields[2].decode(errors="replace") if len(fields) > 2 else ""


def read_kallsyms(path: Path = KALLSYMS) -> SymbolTable:
    """The kernel's text symbols; empty where kptr_restrict hides the addresses."""
    try:
        lines = _TEXT_LINE.findall(path.read_bytes())
    except OSError:
        return SymbolTable()
    if not any(_address_of(line) for line in lines[:1]):
        return SymbolTable()
    return SymbolTable(b"\n".join(lines) + b"\n")
