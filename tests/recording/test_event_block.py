"""Packed blocks of events hold what was packed, and what is malformed is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisetop._tables import pack_records, unpack_records
from noisetop.errors import NoisetopError
from noisetop.events.layout import Events
from noisetop.input import InputBytes
from noisetop.recording.event_block import Block, events_of, packed_events
from noisetop.recording.raw_file import read_spool
from noisetop.tables.rows import joined
from tests.fuzz.raw_format import RawFile
from tests.recordings import START_NS, events, layout, write_spool

WORDS = layout().event.itemsize // 8
EDGES = (0, 1, 2**16 - 1, 2**16, 2**32 - 1, 2**32, 2**64 - 1)
"""Words around those where a change takes more bytes."""


def unpacked(path: Path, payload: bytes, most: int) -> Events:
    path.write_bytes(payload)
    with path.open("rb") as file:
        block = Block(layout().block_kinds["PACKED"], 0, len(payload))
        pieces = list(events_of(InputBytes(file), block, layout(), most))
    assert all(len(piece) <= most for piece in pieces)
    return joined([np.empty(0, layout().event), *pieces])


@given(
    words=st.lists(
        st.lists(st.sampled_from(EDGES), min_size=WORDS, max_size=WORDS),
        max_size=20,
    ),
    most=st.integers(1, 9),
)
def test_any_record_comes_back(
    words: list[list[int]], most: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    records = np.frombuffer(np.array(words, np.uint64).tobytes(), layout().event)
    payload = packed_events(records, layout())
    assert len(payload) % 8 == 0
    path = tmp_path_factory.mktemp("packed") / "block"
    assert unpacked(path, payload, most).tobytes() == records.tobytes()


def test_what_records_have_in_common_is_told_once(tmp_path: Path) -> None:
    """Three bytes, and two each for when it began and how long it took, where just these differ."""
    row = {"source": "softirq", "id": 1, "cpu": 2, "victim_tid": 7}
    rows = [{**row, "start_ns": START_NS + i, "gross_ns": i, "net_ns": i} for i in range(1, 101)]
    payload = packed_events(events(*rows), layout())
    assert len(payload) < 100 * (3 + 2 * 2) + 64
    assert unpacked(tmp_path / "block", payload, 1000).tobytes() == events(*rows).tobytes()


@pytest.mark.parametrize("count", [2, 3, 2**32, 2**64 - 1])
def test_fewer_than_it_tells(count: int, tmp_path: Path) -> None:
    payload = packed_events(events({"source": "softirq", "gross_ns": 2**63}), layout())
    payload = count.to_bytes(8, "little") + payload[8:]
    with pytest.raises(ValueError, match="fewer"):
        unpacked(tmp_path / "block", payload[:-16], 1000)


def test_a_file_with_a_malformed_block_is_damaged(tmp_path: Path) -> None:
    """Though its checksum is right: somebody made it."""
    path, shared = tmp_path / "a.noisetop", layout()
    write_spool(path, [events({"source": "softirq", "start_ns": START_NS, "gross_ns": 5})])
    raw = RawFile.parsed(path.read_bytes())
    raw.blocks = [
        (kind, (9).to_bytes(8, "little") + payload[8:])
        if kind == shared.block_kinds["PACKED"]
        else (kind, payload)
        for kind, payload in raw.blocks
    ]
    path.write_bytes(raw.built())
    with pytest.raises(NoisetopError, match="is damaged"):
        list(read_spool(path).all_chunks())


def test_arguments_that_do_not_fit() -> None:
    records, last = np.zeros(2, layout().event), np.zeros((256, WORDS), np.uint64)
    packed = pack_records(records, 0, last)
    with pytest.raises(ValueError, match="lie in a record"):
        pack_records(records, layout().event.itemsize, last)
    with pytest.raises(ValueError, match="last must have"):
        pack_records(records, 0, last[:9])
    with pytest.raises(ValueError, match="a record"):
        unpack_records(packed, 0, last, np.zeros(9, np.uint8).view("V9"))
    with pytest.raises(ValueError, match="fewer"):
        unpack_records(packed, len(packed) + 1, last, records)
    assert unpack_records(packed, 0, last, records[:0]) == 0
