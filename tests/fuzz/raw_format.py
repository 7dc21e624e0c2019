"""A raw recording taken apart and put together again, with the checksums that belong to it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from noisetop._tables import crc32c
from noisetop.events.layout import Layout
from noisetop.recording.raw_file import MAGIC
from tests import recordings

_BEFORE = np.dtype([("magic", "<u4"), ("kind", "<u4"), ("bytes", "<u8")])
"""The header of a block up to version 0.2."""


@cache
def layout() -> Layout:
    """The layout of the records as this build has it."""
    return recordings.layout()


@dataclass(slots=True)
class RawFile:
    """What a mutant changes."""

    head: dict[str, Any]
    blocks: list[tuple[int, bytes]]
    """Kind and payload."""
    magic: bytes = MAGIC
    checked: bool = True
    """False: a file of version 0.2."""
    numbers: list[int] = field(default_factory=list)
    """Of the blocks where they are not those of their order."""

    @classmethod
    def parsed(cls, whole: bytes) -> RawFile:
        """Of an undamaged file."""
        at = whole.index(b"\n", len(MAGIC)) + 1
        head = json.loads(whole[len(MAGIC) : at])
        checked = any(
            "checksum" in one for one in head["layout"]["structs"]["noise_block"]["members"]
        )
        header = layout().block if checked else _BEFORE
        blocks = []
        while at < len(whole):
            one = np.frombuffer(whole, header, 1, at)[0]
            at += header.itemsize
            blocks.append((int(one["kind"]), whole[at : at + int(one["bytes"])]))
            at += int(one["bytes"])
        if checked:
            del blocks[0]  # the checksum of the head
        return cls(head, blocks, whole[: len(MAGIC)], checked)

    def built(self) -> bytes:
        """The file. Texts that JSON cannot hold are written as they are."""
        line = json.dumps(self.head).encode()
        head = self.magic + line + b" " * (-(len(MAGIC) + len(line) + 1) % 8) + b"\n"
        if not self.checked:
            return head + b"".join(_block(_BEFORE, *one) for one in self.blocks)
        kinds = layout().block_kinds
        sealed = json.dumps({"head_crc32c": crc32c(head)}).encode()
        blocks = [(kinds["JSON"], sealed + b" " * (-len(sealed) % 8)), *self.blocks]
        numbers = self.numbers or range(len(blocks))
        return head + b"".join(_checked(n, *one) for n, one in zip(numbers, blocks, strict=False))


def _block(header: np.dtype[np.void], kind: int, payload: bytes) -> bytes:
    block = np.zeros(1, header)
    block["magic"], block["kind"], block["bytes"] = layout().block_magic, kind, len(payload)
    return block.tobytes() + payload


def _checked(number: int, kind: int, payload: bytes) -> bytes:
    header = layout().block
    block = np.frombuffer(bytearray(_block(header, kind, b"")), header)
    block["bytes"], block["number"] = len(payload), number
    block["payload"] = crc32c(payload)
    assert header.fields is not None
    block["checksum"] = crc32c(block.tobytes()[: header.fields["checksum"][1]])
    return block.tobytes() + payload
