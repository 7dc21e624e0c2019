"""Writing on a second thread."""

from __future__ import annotations

import io
import threading
from typing import cast

import pytest

from noisetop.exporters._behind import writing_behind


class FullDisk(io.BytesIO):
    """Takes one part."""

    def write(self, part: object) -> int:
        if self.tell():
            raise OSError(28, "No space left on device")
        return super().write(cast(bytes, part))


def _write(out: io.BytesIO, parts: int) -> None:
    with writing_behind(out) as behind:
        for _ in range(parts):
            behind.write(b"x")


def test_parts_keep_their_order() -> None:
    out = io.BytesIO()
    with writing_behind(out) as behind:
        behind.write(b"0,")
        behind.writelines(b"%d," % number for number in range(1, 100))
    assert out.getvalue() == b"".join(b"%d," % number for number in range(100))


def test_what_cannot_be_written_is_told() -> None:
    out = FullDisk()
    with pytest.raises(OSError, match="No space"):
        _write(out, 1000)
    assert out.getvalue() == b"x"


def test_the_last_part_that_fails_is_told() -> None:
    with pytest.raises(OSError, match="No space"):
        _write(FullDisk(), 2)


def test_no_thread_is_left_behind_an_error() -> None:
    before = threading.active_count()
    with pytest.raises(ZeroDivisionError), writing_behind(io.BytesIO()):
        _ = 1 // 0
    assert threading.active_count() == before
