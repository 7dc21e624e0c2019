"""No damage changes what a file says without a word: of any format, wherever it is."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisetop.errors import NoisetopError
from noisetop.events.interruption import Flag
from noisetop.events.layout import Events
from noisetop.recording.open import open_recording
from noisetop.recording.raw_file import MAGIC
from noisetop.summary.recorded import summary_of
from noisetop.summary.summary import Summary
from tests.recordings import (
    START_NS,
    all_rows,
    events,
    interruption,
    layout,
    recording,
    table,
    write_recording,
    write_spool,
)

PAGE = 4096
DATA = Path(__file__).parents[1] / "data"
ROWS = 100
BLOCKS = 6


def some_events(first: int) -> Events:
    softirq = {"source": "softirq", "id": 1, "cpu": 2, "victim_tid": 7, "flags": Flag.OUTERMOST}
    at = range(first, first + ROWS)
    return events(*(softirq | {"start_ns": START_NS + 100 * i, "gross_ns": 50, "net_ns": 40 + i % 9}
                    for i in at))  # fmt: skip


def write_raw(path: Path) -> None:
    write_spool(path, [some_events(ROWS * number) for number in range(BLOCKS)])


def write_as(suffix: str) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        rows = [interruption(100 * i, 50, net_ns=40 + i % 9, source=i % 5) for i in range(1_000)]
        target = path.with_name(f"whole{suffix}")
        write_recording(recording(table(*rows)), target, force=True)
        target.replace(path)

    return write


FORMATS = {
    "raw": write_raw,
    "compact": write_as(".noisetop"),
    "trace": write_as(".json"),
    "packed trace": write_as(".json.gz"),
}


@pytest.fixture(params=FORMATS)
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "a"
    FORMATS[request.param](path)
    return path


def read(path: Path) -> tuple[str, Summary | None]:
    """What is said of damage, and the totals, where there are any."""
    try:
        found = open_recording(path)
        summary = summary_of(found)
    except NoisetopError as error:
        return str(error), None
    return found.damage, summary


def check_told(path: Path, damaged: bytes) -> None:
    whole = path.read_bytes()
    before = read(path)[1]
    path.write_bytes(damaged)
    said, after = read(path)
    path.write_bytes(whole)
    assert said or after == before
    assert said.isprintable() or not said


@given(share=st.floats(0, 1), zero=st.booleans(), other=st.floats(0, 1))
def test_a_page_of_zeros_or_of_another_place_is_told(
    path: Path, share: float, zero: bool, other: float
) -> None:
    whole = path.read_bytes()
    pages = -(-len(whole) // PAGE)
    at, source = (PAGE * min(int(one * pages), pages - 1) for one in (share, other))
    size = len(whole[at : at + PAGE])
    page = bytes(size) if zero else whole[source : source + size].ljust(size, b"\0")
    check_told(path, whole[:at] + page + whole[at + size :])


@given(share=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_a_bit_that_is_another_is_told(path: Path, share: float, bit: int) -> None:
    damaged = bytearray(path.read_bytes())
    damaged[int(share * len(damaged))] ^= 1 << bit
    check_told(path, bytes(damaged))


@given(share=st.floats(0, 1), size=st.integers(1, 200), twice=st.booleans())
def test_bytes_that_are_missing_or_there_twice_are_told(
    path: Path, share: float, size: int, twice: bool
) -> None:
    whole = path.read_bytes()
    at = int(share * len(whole))
    part = whole[at : at + size]
    check_told(path, whole[:at] + (part + part if twice else b"") + whole[at + size :])


def raw_blocks(whole: bytes) -> tuple[bytes, list[bytes]]:
    """Head and blocks."""
    block = layout().block
    at = whole.index(b"\n", len(MAGIC)) + 1
    head, blocks = whole[:at], []
    while at < len(whole):
        size = block.itemsize + int(np.frombuffer(whole, block, 1, at)["bytes"][0])
        blocks.append(whole[at : at + size])
        at += size
    return head, blocks


@given(dropped=st.sets(st.integers(0, BLOCKS + 2), min_size=1))
def test_missing_blocks_are_told(tmp_path: Path, dropped: set[int]) -> None:
    path = tmp_path / "a"
    write_raw(path)
    head, blocks = raw_blocks(path.read_bytes())
    check_told(path, head + b"".join(b for i, b in enumerate(blocks) if i not in dropped))


@given(order=st.lists(st.integers(0, BLOCKS + 2), max_size=BLOCKS + 5))
def test_blocks_in_another_order_and_blocks_there_twice_are_told(
    tmp_path: Path, order: list[int]
) -> None:
    path = tmp_path / "a"
    write_raw(path)
    head, blocks = raw_blocks(path.read_bytes())
    check_told(path, head + b"".join(blocks[i] for i in order))


def test_rows_of_a_trace_and_blocks_of_a_compact_file_that_are_missing_or_moved(
    tmp_path: Path,
) -> None:
    for suffix, cut in ((".json", b'\n,{"ph":"X"'), (".noisetop", b"rows ")):
        path = tmp_path / "a"
        chunks = [table(*(interruption(100 * i, 50) for i in range(n, n + 9))) for n in (0, 9, 18)]
        write_recording(recording(*chunks), tmp_path / f"b{suffix}", force=True)
        (tmp_path / f"b{suffix}").replace(path)
        first, second, third, *rest = path.read_bytes().split(cut)
        for parts in (
            [first, third, *rest],
            [first, second, second, third, *rest],
            [first, third, second, *rest],
        ):
            path.write_bytes(cut.join(parts))
            assert "its checksum does not fit" in read(path)[0]


def test_the_blocks_around_a_damaged_one_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a"
    write_raw(path)
    head, blocks = raw_blocks(path.read_bytes())
    header = layout().block.itemsize
    for place in (4, header // 2, header + 9, -1):
        third = bytearray(blocks[4])
        third[place] ^= 0xFF
        path.write_bytes(head + b"".join([*blocks[:4], third, *blocks[5:]]))
        found = open_recording(path)
        assert found.damage == f"1 of {BLOCKS + 3} blocks are damaged or missing"
        assert len(all_rows(found)) == (BLOCKS - 1) * ROWS


def test_a_changed_head_is_told_and_its_events_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a"
    write_raw(path)
    path.write_bytes(path.read_bytes().replace(b'"host": "box"', b'"host": "box "', 1))
    path.write_bytes(path.read_bytes().replace(b" \n", b"\n", 1))
    found = open_recording(path)
    assert found.damage == "its head is damaged"
    assert len(all_rows(found)) == BLOCKS * ROWS


def test_what_follows_the_last_block_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a"
    write_raw(path)
    path.write_bytes(path.read_bytes() + bytes(64))
    assert open_recording(path).damage == "it holds bytes that are no block of it"


def test_magic_without_end_is_refused_in_bounded_time(tmp_path: Path) -> None:
    path = tmp_path / "a"
    write_raw(path)
    head, _ = raw_blocks(path.read_bytes())
    path.write_bytes(head + layout().block_magic.to_bytes(8, "little") * (1 << 17))
    assert "no block at byte" in read(path)[0]


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"start_ns": 0}, "1 of its events cannot be"),
        ({"start_ns": START_NS - 1}, "1 of its events cannot be"),
        ({"start_ns": START_NS + 999_970}, "1 of its events cannot be"),
        ({"gross_ns": (1 << 64) - 1}, "1 of its events cannot be"),
        ({"gross_ns": 36 * 10**15, "net_ns": 36 * 10**15}, "1 of its events cannot be"),
        ({"net_ns": 51}, "1 of its events cannot be"),
        ({"gross_ns": 999_990, "net_ns": 999_990, "start_ns": START_NS + 10}, "more interruptions"),
    ],
    ids=str,
)
def test_what_does_not_fit_into_the_wall_time_is_told(
    tmp_path: Path, row: dict[str, int], words: str
) -> None:
    """Whatever the checksums say: files of version 0.2 have none."""
    path = tmp_path / "a"
    some = some_events(0)
    for name, value in row.items():
        some[name][3] = value
    write_spool(path, [some])
    said, summary = read(path)
    assert words in said
    assert summary is not None
    assert 0 <= summary.noise_ns < 2 * summary.duration_ns


def test_what_was_left_out_is_told_by_an_export_as_well(tmp_path: Path) -> None:
    impossible = recording(table(interruption(0, 50), interruption(-7, 50)))
    for suffix in (".noisetop", ".json"):
        path = tmp_path / f"a{suffix}"
        write_recording(impossible, path, force=False)
        assert read(path)[0] == "1 of its events cannot be and are left out"


def test_a_file_of_version_0_2_is_read_as_before() -> None:
    """Written by the commit before there were checksums."""
    found = open_recording(DATA / "0.2/raw.noisetop")
    assert len(all_rows(found)) == 21
    assert found.damage == ""


def test_a_page_of_zeros_in_a_file_of_version_0_2_is_told(tmp_path: Path) -> None:
    whole = (DATA / "0.2/raw.noisetop").read_bytes()
    for at in range(0, len(whole), PAGE):
        path = tmp_path / "a"
        path.write_bytes(whole[:at] + bytes(PAGE) + whole[at + PAGE :])
        assert read(path)[0]


def test_a_file_that_becomes_shorter_while_it_is_read_is_told(tmp_path: Path) -> None:
    """A mapped one would end the process."""
    path = tmp_path / "a"
    many = [np.repeat(some_events(ROWS * number), 5000) for number in range(BLOCKS)]
    for one in many:
        one["id"] = np.arange(len(one))
    write_spool(path, many)
    found = open_recording(path)
    assert path.stat().st_size > 2 << 20, "what was read ahead is not read again"
    os.truncate(path, 30_000)
    with pytest.raises(NoisetopError, match=r"damaged \("):
        summary_of(found)
