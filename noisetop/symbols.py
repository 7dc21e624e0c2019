"""Names of kernel functions, from /proc/kallsyms, modules included."""

from __future__ import annotations

import zlib
from bisect import bisect_right
from pathlib import Path

KALLSYMS = Path("/proc/kallsyms")
_TEXT_TYPES = frozenset(b"tTwW")


class SymbolTable:
    """Function names by address."""

    def __init__(self, symbols: dict[int, str]) -> None:
        self._names = symbols
        self._addresses = sorted(symbols)

    def __len__(self) -> int:
        return len(self._addresses)

    def name(self, address: int) -> str:
        """The function that holds ``address``, or the address in hexadecimal."""
        name = self._names.get(address)
        if name is None and self._addresses and address >= self._addresses[0]:
            name = self._names[self._addresses[bisect_right(self._addresses, address) - 1]]
        return name or f"{address:#x}"

    def subset(self, addresses: set[int]) -> SymbolTable:
        """A table that names just these addresses as this one does."""
        return SymbolTable({address: self.name(address) for address in addresses})

    def pack(self) -> bytes:
        """The table as compressed bytes, for a recording."""
        lines = "\n".join(f"{address:x} {self._names[address]}" for address in self._addresses)
        return zlib.compress(lines.encode(), level=1)

    @classmethod
    def unpack(cls, packed: bytes) -> SymbolTable:
        """Inverse of pack(). Raises ValueError on anything else."""
        try:
            lines = zlib.decompress(packed).decode(errors="replace").splitlines()
        except zlib.error as error:
            raise ValueError(f"symbol table does not unpack: {error}") from None
        pairs = (line.split(" ", 1) for line in lines)
        return cls({int(address, 16): name for address, name in pairs})


def read_kallsyms(path: Path = KALLSYMS) -> SymbolTable:
    """The kernel's text symbols; empty where kptr_restrict hides the addresses.

    An alias at one address keeps the name that the kernel lists first.
    """
    symbols: dict[int, str] = {}
    try:
        lines = path.read_bytes().splitlines()
    except OSError:
        return SymbolTable({})
    for line in lines:
        fields = line.split(None, 3)
        if len(fields) >= 3 and fields[1][0] in _TEXT_TYPES:
            address = int(fields[0], 16)
            if address:
                symbols.setdefault(address, fields[2].decode(errors="replace"))
    return SymbolTable(symbols)
