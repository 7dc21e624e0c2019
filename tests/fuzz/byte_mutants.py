"""Damage that knows no format: what disks, transfers and crashes do to a file."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

_PAGES = (512, 4096)


def damaged(content: bytes, random: Random) -> bytes:
    """The file with one to three kinds of damage."""
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        content = random.choice(_DAMAGES)(content, random)
    return content


def _place(content: bytes, random: Random) -> int:
    return random.randrange(len(content)) if content else 0


def _bit(content: bytes, random: Random) -> bytes:
    changed = bytearray(content)
    if changed:
        changed[_place(content, random)] ^= 1 << random.randrange(8)
    return bytes(changed)


def _byte(content: bytes, random: Random) -> bytes:
    at = _place(content, random)
    return content[:at] + bytes([random.choice((0, 1, 0x7F, 0xFF, 48, 57, 34))]) + content[at + 1 :]


def _page(content: bytes, random: Random) -> bytes:
    """Zeros, or what stands elsewhere."""
    size = random.choice(_PAGES)
    at = _place(content, random) // size * size
    other = _place(content, random) // size * size
    page = random.choice((bytes(size), content[other : other + size]))
    return content[:at] + page.ljust(size, b"\0")[: len(content) - at] + content[at + size :]


def _cut(content: bytes, random: Random) -> bytes:
    return content[: _place(content, random)]


def _part_missing(content: bytes, random: Random) -> bytes:
    at = _place(content, random)
    return content[:at] + content[at + random.choice((1, 8, 16, 64, 4096)) :]


def _part_twice(content: bytes, random: Random) -> bytes:
    at, size = _place(content, random), random.choice((1, 8, 64, 4096))
    return content[: at + size] + content[at:]


def _inserted(content: bytes, random: Random) -> bytes:
    at = _place(content, random)
    return content[:at] + random.randbytes(random.choice((1, 2, 8, 64))) + content[at:]


def _digits(content: bytes, random: Random) -> bytes:
    """Another number of the same length, where there is one."""
    at = _place(content, random)
    while at < len(content) and not content[at : at + 1].isdigit():
        at += 1
    end = at
    while content[end : end + 1].isdigit():
        end += 1
    number = "".join(random.choice("0123456789") for _ in range(end - at))
    return content[:at] + number.encode() + content[end:]


_DAMAGES: tuple[Callable[[bytes, Random], bytes], ...] = (
    _bit,
    _byte,
    _page,
    _cut,
    _part_missing,
    _part_twice,
    _inserted,
    _digits,
)
