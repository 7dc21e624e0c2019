"""CRC-32C, by the CPU's instruction and by table."""

from __future__ import annotations

import ctypes
import random
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisetop._tables import crc32c

SOURCE = Path(__file__).parents[2] / "noisetop/native/crc32c.c"
VECTORS = [  # RFC 3720, appendix B.4, and the check value of the catalogues
    (b"", 0),
    (b"123456789", 0xE3069283),
    (bytes(32), 0x8A9136AA),
    (b"\xff" * 32, 0x62A8AB43),
    (bytes(range(32)), 0x46DD794E),
]


@pytest.fixture(scope="module")
def by_table(tmp_path_factory: pytest.TempPathFactory) -> Callable[[bytes, int], int]:
    """As on a CPU without the instruction."""
    library = tmp_path_factory.mktemp("crc") / "crc32c.so"
    build = ["cc", "-shared", "-fPIC", "-O2", "-DCRC32C_BY_TABLE", str(SOURCE), "-o", str(library)]
    subprocess.run(build, check=True)
    function = ctypes.CDLL(str(library)).crc32c
    function.argtypes = [ctypes.c_uint32, ctypes.c_char_p, ctypes.c_size_t]
    function.restype = ctypes.c_uint32

    def crc(content: bytes, before: int) -> int:
        return int(function(before, content, len(content)))

    return crc


@pytest.mark.parametrize(("content", "expected"), VECTORS)
def test_known_values(content: bytes, expected: int, by_table: Callable[[bytes, int], int]) -> None:
    assert crc32c(content) == expected
    assert by_table(content, 0) == expected


@given(content=st.binary(max_size=100), crc=st.integers(0, 2**32 - 1))
def test_instruction_and_table_agree(
    content: bytes, crc: int, by_table: Callable[[bytes, int], int]
) -> None:
    assert crc32c(content, crc) == by_table(content, crc)


@pytest.mark.parametrize("size", [3071, 3072, 3073, 6144, 9999, 100_000])
def test_what_is_looked_at_in_parts(size: int, by_table: Callable[[bytes, int], int]) -> None:
    content = random.Random(size).randbytes(size)
    assert crc32c(content, size) == by_table(content, size)


@given(content=st.binary(max_size=50), cut=st.integers(0, 50))
def test_parts_add_up(content: bytes, cut: int) -> None:
    assert crc32c(content[cut:], crc32c(content[:cut])) == crc32c(content)


def test_takes_any_contiguous_buffer() -> None:
    content = bytes(range(40))
    assert crc32c(memoryview(content)[8:]) == crc32c(content[8:])
    with pytest.raises(BufferError):
        crc32c(memoryview(content)[::2])
