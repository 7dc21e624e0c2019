"""The blocks of a raw recording (bpf/noise.h): written with number and checksums, found again.

A block that does not fit its checksum is left out, and how many are is told. Files of version 0.2
have neither number nor checksum: of them only the last block may be incomplete.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from noisetop._tables import crc32c
from noisetop.events.layout import Events, Layout
from noisetop.input import InputBytes
from noisetop.recording.event_block import Block
from noisetop.recording.growing_events import GrowingEvents

CUT_SHORT = "it was cut short"
_ALIGNMENT = 8
_PIECE_BYTES = 1 << 20
_MAX_GUESSES = 1 << 12


class BlockFile(Protocol):
    """Where a recording is written."""

    def write_head(self, head: bytes) -> None:
        """Begins the file. Raises OSError."""

    def append(self, kind: int, payload: bytes) -> None:
        """Adds a block of that kind; ``payload`` is a multiple of 8 bytes. Raises OSError."""

    def news(self) -> Iterable[Events]:
        """Of the events that were added since the last call at least those that are the first to
        name a function, a user stack or a task. Raises OSError."""


@dataclass(slots=True)
class PlainBlockFile:
    """A file that nobody else writes."""

    fd: int
    """Open for reading as well."""
    layout: Layout
    _blocks: int = 0
    _events: GrowingEvents | None = None

    def write_head(self, head: bytes) -> None:
        """See BlockFile."""
        _write_all(self.fd, head)
        self._events = GrowingEvents(self.fd, self.layout, len(head))

    def news(self) -> Iterable[Events]:
        """All events, read from the file. See BlockFile."""
        return self._events.new() if self._events else ()

    def append(self, kind: int, payload: bytes) -> None:
        """See BlockFile."""
        block = np.zeros(1, self.layout.block)
        block["magic"], block["kind"] = self.layout.block_magic, kind
        block["bytes"], block["number"] = len(payload), self._blocks
        block["payload"] = crc32c(payload)
        block["checksum"] = _header_checksum(self.layout, block.tobytes())
        _write_all(self.fd, block.tobytes() + payload)
        self._blocks += 1


def _write_all(fd: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(fd, view) :]


def _header_checksum(layout: Layout, header: memoryview | bytes) -> int:
    assert layout.block.fields is not None
    return crc32c(header[: layout.block.fields["checksum"][1]])


class BlockReader:
    """The whole blocks of a file, in their order. Iterate once; then damage() says what is wrong.

    Raises ValueError while it iterates where a file of version 0.2 is damaged, and OSError.
    """

    def __init__(self, content: InputBytes, offset: int, layout: Layout) -> None:
        """``offset``: where the first block begins, in bytes."""
        self._content = content
        self._offset = offset
        self._layout = layout
        self._checked = "checksum" in (layout.block.names or ())
        self._magic = layout.block_magic.to_bytes(4, "little")
        self._guesses = 0
        self._whole = 0
        self._expected = 0
        self._foreign = False
        self._cut_short = False

    def __iter__(self) -> Iterator[Block]:
        size, end = self._layout.block.itemsize, len(self._content)
        at = self._offset
        while at < end:
            header = self._header(at)
            if header is None:
                self._cut_short = at + size > end
                at = self._next(at + _ALIGNMENT, end)
                continue
            block = Block(int(header["kind"]), at + size, int(header["bytes"]))
            if block.offset + block.size > end:
                self._cut_short = True
                return
            if self._belongs(header, block):
                yield block
            at = block.offset + block.size

    def damage(self) -> str:
        """In words for the user; empty: none."""
        words = []
        if lost := self._expected - self._whole:
            words.append(f"{lost} of {self._expected} blocks are damaged or missing")
        elif self._foreign:
            words.append("it holds bytes that are no block of it")
        if self._cut_short:
            words.append(CUT_SHORT)
        return ", ".join(words)

    def _header(self, at: int) -> np.void | None:
        """None: there is none."""
        block = self._layout.block
        content = self._content.at(at, block.itemsize)
        if len(content) < block.itemsize:
            return None
        header: np.void = np.frombuffer(content, block, 1)[0]
        fits = int(header["magic"]) == self._layout.block_magic and not header["bytes"] % _ALIGNMENT
        if fits and self._checked:
            fits = int(header["checksum"]) == _header_checksum(self._layout, content)
        return header if fits else None

    def _next(self, at: int, end: int) -> int:
        """Where the next block may begin; ``end``: nowhere."""
        size = self._layout.block.itemsize
        if at - _ALIGNMENT + size > end:
            return end
        if not self._checked:
            raise ValueError(f"no block at byte {at - _ALIGNMENT}")
        self._foreign = True
        while at < end:
            content = bytes(self._content.at(at, _PIECE_BYTES))
            found = content.find(self._magic)
            while found >= 0:
                if found % _ALIGNMENT == 0 and self._header(at + found) is not None:
                    return at + found
                self._guesses += 1
                if self._guesses > _MAX_GUESSES:
                    raise ValueError(f"no block at byte {at}")
                found = content.find(self._magic, found + 1)
            at += len(content) or end
        return end

    def _belongs(self, header: np.void, block: Block) -> bool:
        """Whether a block is whole and stands in its place; counts."""
        if not self._checked:
            return True
        number = int(header["number"])
        if number < self._expected:
            self._foreign = True
            return False
        self._expected = number + 1
        if self._checksum(block) != int(header["payload"]):
            return False
        self._whole += 1
        return True

    def _checksum(self, block: Block) -> int:
        crc = 0
        for first in range(0, block.size, _PIECE_BYTES):
            size = min(_PIECE_BYTES, block.size - first)
            crc = crc32c(self._content.at(block.offset + first, size), crc)
        return crc
