"""Mutants of each format that its reader does not turn away at the door: checksums fit again."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np

from noisetop._tables import crc32c
from noisetop.checked_json import sealed
from noisetop.recording import chrome_trace_file, compact_file
from tests.fuzz.json_mutants import mutated
from tests.fuzz.raw_format import RawFile, layout

_EDGES = (0, 1, 2, 0x7F, 0xFF, 0xFFFF, 1 << 31, (1 << 32) - 1, 1 << 62, (1 << 63) - 1, 1 << 63)
_LINE = re.compile(rb"\d+(?:\.\d{3})?")


def forged(format: str, content: bytes, random: Random) -> bytes:
    """A file of this format with another content and the right checksums."""
    return _FORGERS[format](content, random)


def _column_forged(table: np.ndarray[Any, np.dtype[np.void]], random: Random) -> None:
    """Other values in one field of some rows, in place."""
    if not len(table) or not table.dtype.names:
        return
    name = random.choice(table.dtype.names)
    rows = random.sample(range(len(table)), min(len(table), random.choice((1, 1, 3, 1_000))))
    if table.dtype[name].kind == "S":
        table[name][rows] = random.randbytes(random.randrange(1, 17))
        return
    largest = int(np.iinfo(table.dtype[name].base).max)
    edge = random.choice((*_EDGES, largest, random.getrandbits(64)))
    table[name][rows] = edge & largest


def _forge_raw(content: bytes, random: Random) -> bytes:
    raw = RawFile.parsed(content)
    how = random.randrange(6)
    at = random.randrange(len(raw.blocks))
    kind, payload = raw.blocks[at]
    if how == 0:
        raw.head = mutated(raw.head, random)
    elif how == 1:
        raw.blocks[at] = random.choice(list(layout().block_kinds.values())), payload
    elif how == 2:
        order = [random.randrange(len(raw.blocks)) for _ in raw.blocks]
        raw.blocks = [raw.blocks[i] for i in order]
    elif how == 3:
        raw.numbers = [random.randrange(1 << 8) for _ in range(len(raw.blocks) + 1)]
    else:
        raw.blocks[at] = kind, _payload_forged(kind, payload, random)
    return raw.built()


def _payload_forged(kind: int, payload: bytes, random: Random) -> bytes:
    shared = layout()
    if kind == shared.block_kinds["JSON"]:
        text = json.dumps(mutated(json.loads(payload), random)).encode()
        return text + b" " * (-len(text) % 8)
    if kind == shared.block_kinds["SYMBOLS"]:
        unpacker = zlib.decompressobj()
        text = _LINE.sub(lambda _: b"f" * 16, unpacker.decompress(payload), random.randrange(9))
        packed = zlib.compress(text)
        return packed + bytes(-len(packed) % 8)
    struct = {"EVENTS": "noise_event", "COUNTERS": "noise_cpu_counters"}
    names = {value: name for name, value in shared.block_kinds.items()}
    if names[kind] == "PACKED":
        changed = bytearray(payload)
        for _ in range(random.randrange(1, 9)):
            changed[random.randrange(len(changed))] = random.randrange(256)
        return bytes(changed)
    if names[kind] not in struct:
        return random.choice(_EDGES).to_bytes(8, "little")
    dtype = shared.dtype(struct[names[kind]])
    rows = np.frombuffer(bytearray(payload), dtype, len(payload) // dtype.itemsize)
    if random.random() < 0.3 and names[kind] == "EVENTS":
        rows = rows.view(shared.trigger)
    _column_forged(rows, random)
    return rows.tobytes()


def _forge_compact(content: bytes, random: Random) -> bytes:
    head, blocks = _compact_parts(content)
    how = random.randrange(4)
    if how == 0:
        head = mutated(head, random)
    elif how == 1:
        random.shuffle(blocks)
    else:
        at = random.randrange(len(blocks))
        kind, rows, packed = blocks[at]
        blocks[at] = kind, rows, _compact_forged(kind, head, packed, random)
    return _compact_built(head, blocks)


def _compact_parts(content: bytes) -> tuple[dict[str, Any], list[tuple[bytes, int, bytes]]]:
    at = len(compact_file.MAGIC)
    end = content.index(b"\n", at) + 1
    head, blocks = json.loads(content[at:end]), []
    while end < len(content):
        at = content.index(b"\n", end) + 1
        kind, rows, size = content[end:at].split()
        end = at + int(size)
        blocks.append((kind, int(rows), content[at:end]))
    return head, [one for one in blocks if one[0] != b"check"]


def _compact_forged(kind: bytes, head: dict[str, Any], packed: bytes, random: Random) -> bytes:
    if kind == b"names":
        names = mutated(json.loads(zlib.decompress(packed)), random)
        return zlib.compress(json.dumps(names).encode(), 1)
    planes = bytearray(zlib.decompress(packed))
    for _ in range(random.choice((1, 4, 100))):
        planes[random.randrange(len(planes))] = random.choice((0, 1, 0x7F, 0x80, 0xFF))
    return zlib.compress(planes, 1)


def _compact_built(head: dict[str, Any], blocks: list[tuple[bytes, int, bytes]]) -> bytes:
    content = compact_file.MAGIC + json.dumps(head).encode() + b"\n"
    for kind, rows, packed in blocks:
        content += b"%s %d %d\n" % (kind, rows, len(packed)) + packed
    rows = sum(rows for _, rows, _ in blocks)
    check = json.dumps({"rows": rows, "crc32c": crc32c(content)}).encode()
    return content + b"check 0 %d\n" % len(check) + check


def _forge_trace(content: bytes, random: Random) -> bytes:
    lines = content.split(b"\n")
    names = json.loads(b"{" + lines[-2].split(b"],", 1)[1][:-1])
    about = json.loads(lines[1].removeprefix(b'"otherData":')[:-1])
    slices = [i for i, line in enumerate(lines) if line.startswith(b',{"ph":"X"')]
    how = random.randrange(4)
    if how == 0:
        about = mutated(about, random)
    elif how == 1:
        names = mutated(names, random)
    else:
        for at in random.sample(slices, min(len(slices), random.choice((1, 3)))):
            lines[at] = _line_forged(lines[at], random)
    lines[1] = b'"otherData":' + json.dumps(about, separators=(",", ":")).encode() + b","
    chosen = [lines[i] for i in slices]
    crc = crc32c(b"\n".join([lines[1], *chosen, b""]))
    text = json.dumps(names, separators=(",", ":")).encode() if names else b'{"":0}'
    tail = chrome_trace_file.tail(text, len(slices), crc)
    return b"\n".join(lines[:-3]) + b"\n" + tail


def _line_forged(line: bytes, random: Random) -> bytes:
    """Another number of the same length, or of another one."""
    found = random.choice(list(_LINE.finditer(line)))
    number = b"%d" % random.choice((*_EDGES, random.getrandbits(40)))
    if random.random() < 0.7:
        number = number[: len(found[0])].rjust(len(found[0]), b"0")
        if b"." in found[0]:
            number = number[:-4] + b"." + number[-3:]
    return line[: found.start()] + number + line[found.end() :]


def _forge_packed(content: bytes, random: Random) -> bytes:
    return gzip.compress(_forge_trace(gzip.decompress(content), random), 1, mtime=0)


def _forge_object(content: bytes, random: Random) -> bytes:
    document = json.loads(content)
    document.pop("crc32")
    changed = mutated(document, random)
    if isinstance(changed, dict):
        changed = sealed(changed)
    return json.dumps(changed).encode()


_FORGERS: dict[str, Callable[[bytes, Random], bytes]] = {
    "raw": _forge_raw,
    "compact": _forge_compact,
    "trace": _forge_trace,
    "packed": _forge_packed,
    "result": _forge_object,
    "saved": _forge_object,
}
