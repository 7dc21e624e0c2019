from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisetop.errors import NoisetopError
from noisetop.events.interruption import INTERRUPTION, Interruptions
from noisetop.events.trigger import Trigger
from noisetop.exporters import noisetop_file
from noisetop.recording.compact_file import MAGIC, read_compact
from noisetop.recording.recording import Recording
from noisetop.summary.recorded import summary_of
from tests.exporters.test_chrome_trace import ROWS, assert_same
from tests.recordings import DATA, all_rows, everything, interruption, recording, table


def written(recorded: Recording) -> bytes:
    out = io.BytesIO()
    noisetop_file.write(recorded, out)
    return out.getvalue()


def read_back(content: bytes, path: Path) -> Recording:
    path.write_bytes(content)
    return read_compact(path)


def test_everything_reads_back(tmp_path: Path) -> None:
    assert_same(read_back(written(everything()), tmp_path / "c"), everything())


@given(st.lists(ROWS, max_size=30))
def test_any_numbers_read_back(tmp_path: Path, rows: list[tuple[int, ...]]) -> None:
    recorded = recording(np.array(rows, INTERRUPTION))
    found = read_back(written(recorded), tmp_path / "c")
    assert np.array_equal(all_rows(found), all_rows(recorded))


def many() -> Interruptions:
    return table(*[interruption(100 * i, 50 + i % 7) for i in range(1_000)])


def test_it_is_a_fraction_of_the_size() -> None:
    assert len(written(recording(many()))) * 5 < many().nbytes


@given(share=st.floats(0, 1, exclude_max=True))
def test_cut_anywhere_it_is_refused_in_one_line(tmp_path: Path, share: float) -> None:
    whole = written(recording(many()))
    with pytest.raises(NoisetopError) as error:
        read_back(whole[: int(share * len(whole))], tmp_path / "c")
    assert str(error.value).isprintable()


@given(st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), max_size=5))
def test_damaged_anywhere_it_is_read_or_refused_in_one_line(
    tmp_path: Path, changes: list[tuple[float, int]]
) -> None:
    damaged = bytearray(written(everything()))
    for share, byte in changes:
        damaged[int(share * len(damaged))] = byte
    try:
        summary_of(read_back(bytes(damaged), tmp_path / "c"))
    except NoisetopError as error:
        line = str(error)
    else:
        line = ""
    assert line.isprintable()


def test_a_table_that_unpacks_to_more_than_it_says_is_refused(tmp_path: Path) -> None:
    head, blocks = written(recording(many())).split(b"\nrows 1000 ", 1)
    assert head.startswith(MAGIC)
    found = read_back(head + b"\nrows 10 " + blocks, tmp_path / "c")
    with pytest.raises(NoisetopError, match="another size"):
        summary_of(found)


@pytest.mark.parametrize("name", ["unloaded", "noisy"])
def test_files_of_before_there_were_triggers_read_with_none(name: str) -> None:
    found = read_compact(DATA / f"{name}.noisetop")
    rows = all_rows(found)
    assert not rows["trigger"].any()
    assert not rows["trigger_ns"].any()
    assert found.triggers == [Trigger()]
    assert sum(cpu.count for cpu in summary_of(found).cpus) > 0


def test_columns_that_are_not_known_are_refused(tmp_path: Path) -> None:
    content = written(everything()).replace(
        b'"trigger_ns", "origin"]', b'"blame_ns__", "origin"]', 1
    )
    with pytest.raises(NoisetopError, match="a later noisetop wrote it"):
        summary_of(read_back(content, tmp_path / "c"))


def test_a_trigger_that_the_file_does_not_tell_is_refused(tmp_path: Path) -> None:
    found = read_back(written(recording(table(interruption(0, 5, trigger=99)))), tmp_path / "c")
    with pytest.raises(NoisetopError, match="a trigger without a name"):
        summary_of(found)
