"""JSON that comes from a file: strictly read, and with a checksum where noisetop wrote it."""

from __future__ import annotations

import json
import zlib
from typing import Any

_MAX_INTEGER = 1 << 63
_MAX_FLOAT = 1e19
_CHECKSUM = "crc32"


def parse_json(text: bytes | str) -> Any:
    """The value of a text. Raises ValueError where it is none, or is nested too deeply, or holds a
    number that no file of ours does: not finite, or beyond what 64 bits hold."""
    try:
        return json.loads(text, parse_int=_integer, parse_float=finite, parse_constant=_no_constant)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _integer(text: str) -> int:
    # int() refuses texts of thousands of digits, but only those.
    return whole(text if len(text) < 32 else _MAX_INTEGER)


def whole(value: Any) -> int:
    """An integer of a file, of which keys are texts. Raises ValueError for one beyond what 64 bits
    hold, and for no number."""
    number = int(value)
    if not -_MAX_INTEGER <= number < _MAX_INTEGER:
        raise ValueError("a number too large")
    return number


def finite(value: Any) -> float:
    """A number of a file, which may be a text. Raises ValueError for one that is not finite, or
    larger than any of ours."""
    number = float(value)
    if not abs(number) <= _MAX_FLOAT:  # which also holds for no NaN
        raise ValueError("a number too large")
    return number


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no number")


def sealed(content: dict[str, Any]) -> dict[str, Any]:
    """An object of ours with a checksum of all that is in it, whatever its layout as text."""
    return {**content, _CHECKSUM: _checksum_of(content)}


def unsealed(content: dict[str, Any], *, required: bool) -> dict[str, Any]:
    """The object that was sealed. Raises ValueError where something in it has changed since, and
    where a checksum is ``required`` and there is none; else one without is taken as it is."""
    rest = {key: value for key, value in content.items() if key != _CHECKSUM}
    if required and _CHECKSUM not in content:
        raise ValueError("its checksum is missing")
    if content.get(_CHECKSUM, _checksum_of(rest)) != _checksum_of(rest):
        raise ValueError("its checksum does not fit")
    return rest


def _checksum_of(content: dict[str, Any]) -> int:
    # Keys are texts only once they were written, and are sorted as such.
    text = json.dumps(json.loads(json.dumps(content)), sort_keys=True)
    return zlib.crc32(text.encode())
