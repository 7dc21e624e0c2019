from __future__ import annotations

import gzip
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisetop.errors import NoisetopError
from noisetop.recording.open import open_recording
from noisetop.summary.recorded import summary_of
from tests.recordings import (
    all_rows,
    everything,
    interruption,
    recording,
    table,
    write_recording,
    write_spool,
)

OF_OURS = (".noisetop", ".json", ".json.gz")


@pytest.mark.parametrize("suffix", OF_OURS)
def test_opens_what_was_exported_by_content_and_not_by_name(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    write_recording(everything(), path, force=False)
    renamed = path.rename(tmp_path / "renamed.txt")
    found = open_recording(renamed)
    assert np.array_equal(all_rows(found), all_rows(everything()))
    assert summary_of(found) == summary_of(everything())
    assert found.directory == everything().directory


@pytest.mark.parametrize("suffix", OF_OURS)
def test_what_is_exported_again_is_the_same(tmp_path: Path, suffix: str) -> None:
    first, second = tmp_path / f"a{suffix}", tmp_path / f"b{suffix}"
    write_recording(everything(), first, force=False)
    write_recording(open_recording(first), second, force=False)
    assert second.read_bytes() == first.read_bytes()


def test_opens_a_native_recording(tmp_path: Path) -> None:
    path = tmp_path / "a"
    write_spool(path)
    assert open_recording(path).metadata == {"host": "box"}


NOT_OURS = {
    "nothing": b"",
    "text": b"hello\n",
    "json": b'{"traceEvents":[]}',
    "json of another": b'{"displayTimeUnit":"ns",\n"otherData":{"writer":"someone"}}\n',
    "list": b"[]",
    "zeros": bytes(1000),
    "packed text": gzip.compress(b"hello"),
    "packed nothing": gzip.compress(b""),
    "half a magic": b"noisetop reco",
    "only the magic": b"noisetop recording 1\n",
    "only the other magic": b"noisetop compact recording 1\n",
    "a later version": b"noisetop recording 4\n{}\n",
    "half a trace": b'{"displayTimeUnit":"ns",\n"otherData":{"writer":"noisetop 1',
    "half a gzip": gzip.compress(b"hello")[:9],
    "elf": b"\x7fELF" + bytes(60),
}


@pytest.mark.parametrize("content", NOT_OURS.values(), ids=NOT_OURS)
def test_what_is_not_ours_is_refused_in_one_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a"
    path.write_bytes(content)
    with pytest.raises(NoisetopError) as error:
        open_recording(path)
    assert str(error.value).isprintable()
    assert str(path) in str(error.value)
    assert error.value.exit_code == 1


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(NoisetopError, match="there is no file"):
        open_recording(tmp_path / "a")


def test_a_folder_and_a_pipe_are_no_recordings(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(NoisetopError, match="is not a file"):
            open_recording(path)


def test_without_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a"
    path.touch()

    def refuse(path: Path, flags: int) -> None:
        raise PermissionError(13, os.strerror(13))

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(NoisetopError, match=r"^cannot read \S+: Permission denied$"):
        open_recording(path)


def some_trace(path: Path, suffix: str) -> bytes:
    rows = [interruption(100 * i, 50, source=i % 5) for i in range(200)]
    target = path.with_name(f"whole{suffix}")
    write_recording(recording(table(*rows)), target, force=True)
    return target.read_bytes()


def message_of(path: Path) -> str:
    """The error that reading the whole file ends in; empty when there is none."""
    try:
        summary_of(open_recording(path))
    except NoisetopError as error:
        return str(error)
    return ""


@given(share=st.floats(0, 1, exclude_max=True), suffix=st.sampled_from(OF_OURS))
def test_cut_anywhere_it_is_refused_in_one_line(tmp_path: Path, share: float, suffix: str) -> None:
    path = tmp_path / "a"
    whole = some_trace(path, suffix)
    path.write_bytes(whole[: int(share * len(whole))])
    message = message_of(path)
    assert message
    assert message.isprintable()


@given(
    st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.binary(max_size=3)), max_size=4),
    st.sampled_from(OF_OURS),
)
def test_damaged_anywhere_it_is_read_or_refused_in_one_line(
    tmp_path: Path, changes: list[tuple[float, bytes]], suffix: str
) -> None:
    path = tmp_path / "a"
    damaged = some_trace(path, suffix)
    for share, content in changes:
        at = int(share * len(damaged))
        damaged = damaged[:at] + content + damaged[at + 1 :]
    path.write_bytes(damaged)
    message = message_of(path)
    assert not message or message.isprintable()


CHANGES = {
    "a changed number": (b'"net_ns":  50', b'"net_ns":  5x'),
    "a number with a hole": (b'"ts":  19.900', b'"ts":1 9.9000'),
    "an unknown source": (b'"ids":[4,', b'"ids":[9,'),
    "an unknown trigger": (b',0],"net_ns"', b',9],"net_ns"'),
    "no unknown trigger": (b'"triggers":[[""', b'"triggers":[["a"'),
    "a number too large": (b'"ids":[4,', b'"ids":[4294967296,'),
    "a missing number": (b'"ids":[4,', b'"ids":['),
    "a missing column": (b'"net_ns":  50,', b""),
    "no numbers": (b'"ids":[', b'"ads":['),
    "a later format": (b'"format":3', b'"format":4'),
    "cpus that cannot be": (b'"cpus":[2,3]', b'"cpus":[-2]'),
    "no cpus": (b'"cpus":[2,3],', b""),
    "sources that are none": (b'"sources":[[', b'"sources":[[],['),
    "an end before the start": (b'"end_ns":6', b'"end_ns":1'),
    "losses of another kind": (b'"losses":{', b'"losses":[{'),
}


@pytest.mark.parametrize(("old", "new"), CHANGES.values(), ids=CHANGES)
def test_a_trace_that_was_changed_is_refused(tmp_path: Path, old: bytes, new: bytes) -> None:
    path = tmp_path / "a"
    whole = some_trace(path, ".json")
    assert old in whole
    path.write_bytes(whole.replace(old, new))
    assert "is not as noisetop wrote it" in message_of(path)


def test_events_of_other_kinds_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "a"
    whole = some_trace(path, ".json")
    first = whole.index(b'\n,{"ph":"X"')
    flow = b'\n,{"ph":"s","id":1,"pid":2,"tid":3,"ts":1.0,"name":"wakes"}'
    path.write_bytes(whole[:first] + flow + whole[first:])
    assert len(all_rows(open_recording(path))) == 200


def test_a_packed_line_without_end_is_refused_in_bounded_memory(tmp_path: Path) -> None:
    path = tmp_path / "a"
    start = b'{"displayTimeUnit":"ns",\n"otherData":'
    path.write_bytes(gzip.compress(start + b" " * (64 << 20), compresslevel=1))
    assert "the header is incomplete" in message_of(path)
