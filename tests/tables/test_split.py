"""Rows by kind, also while somebody else writes to them."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from noisetop._tables import split_by_kind

CHANGING = """
import sys
import threading
import numpy as np
from noisetop._tables import split_by_kind

rows = np.zeros((200_000, 64), np.uint8)
done = threading.Event()

def change():
    while not done.is_set():
        rows[:, 3] ^= 1

threading.Thread(target=change).start()
for _ in range(int(sys.argv[1])):
    try:
        for blocks in split_by_kind([rows.reshape(-1)], 64, 3, 1, bytes([0, 1]), 4096):
            assert all(len(block) % 64 == 0 for block in blocks)
    except ValueError as error:
        assert str(error) == "rows changed while they were read"
done.set()
"""


def test_every_row_goes_where_it_belongs() -> None:
    rows = np.arange(24, dtype=np.uint8).reshape(6, 4)
    pieces = [rows[:2].reshape(-1), rows[2:].reshape(-1)]
    even, odd = split_by_kind(pieces, 4, 0, 4, bytes([0, 4]), 2)
    assert even == [rows[[0, 2]].tobytes(), rows[[4]].tobytes()]
    assert odd == [rows[[1, 3]].tobytes(), rows[[5]].tobytes()]
    whole = split_by_kind(pieces, 4, 0, 0, bytes([0]), 3)
    assert whole == ([bytes(range(12)), bytes(range(12, 24))],)
    assert split_by_kind(pieces, 4, 0, 0, bytes([1]), 3) == ([],)


@pytest.mark.parametrize("block_rows", [0, -1, sys.maxsize])
def test_blocks_that_cannot_be(block_rows: int) -> None:
    with pytest.raises(ValueError, match="blocks of rows"):
        split_by_kind([bytes(8)], 2, 0, 1, bytes([0]), block_rows)


def test_rows_of_no_kind_are_left_out() -> None:
    assert split_by_kind([bytes(range(8))], 2, 0, 0xFF, bytes([2]), 9) == ([bytes([2, 3])],)


def test_a_piece_that_ends_within_a_row() -> None:
    with pytest.raises(ValueError, match="within a row"):
        split_by_kind([bytes(7)], 2, 0, 1, bytes([0]), 9)


def test_rows_that_change_meanwhile_write_beyond_nothing(thorough: bool) -> None:
    """In a process of its own, as it died of it. 300 times with --thorough, else 100."""
    command = [sys.executable, "-c", CHANGING, "300" if thorough else "100"]
    found = subprocess.run(command, capture_output=True, text=True)
    assert (found.returncode, found.stderr) == (0, "")
