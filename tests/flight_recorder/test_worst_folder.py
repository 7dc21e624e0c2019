from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noisetop.errors import UsageError
from noisetop.flight_recorder.worst_folder import INDEX, WorstFolder
from noisetop.recording.moment import SINGLE
from noisetop.recording.open import open_recording
from noisetop.summary.worst import summarize_with_worst
from tests.flight_recorder.made_up import taken

BOOT = "5a"


def opened(path: Path, keep: int = 3, boot: str = BOOT) -> WorstFolder:
    folder = WorstFolder(path, keep, SINGLE, boot)
    folder.open()
    return folder


def index(path: Path) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads((path / INDEX).read_text())
    return found


@settings(max_examples=10)
@given(st.lists(st.integers(1, 1_000_000), min_size=1, max_size=8, unique=True))
def test_the_worst_stay_and_nothing_else(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int]
) -> None:
    path = tmp_path_factory.mktemp("a") / "worst"
    folder = opened(path)
    for number, noise_ns in enumerate(sizes):
        folder.take(taken(10 * number, noise_ns))
    worst = sorted(sizes, reverse=True)[:3]
    told = index(path)
    assert [one["net_ns"] for one in told] == worst
    assert folder.bar_ns == (worst[-1] if len(worst) == 3 else 0)
    assert {file.name for file in path.iterdir()} == {INDEX, *(one["file"] for one in told)}


def test_the_index_says_what_a_report_of_the_file_says(tmp_path: Path) -> None:
    opened(tmp_path / "worst").take(taken(1, 5_000))
    [one] = index(tmp_path / "worst")
    recording = open_recording(tmp_path / "worst" / str(one["file"]))
    _, worst = summarize_with_worst(recording, 1)
    interval = worst[0].interval
    assert (one["cpu"], one["start_ns"], one["net_ns"]) == (2, interval.start_ns, 5_000)
    assert one["duration_ns"] == interval.end_ns - interval.start_ns
    assert one["source"] == ["irq", "36 virtio1-req.0"]
    assert one["cost_ns"] is None  # nothing was calibrated
    # The recording starts at 03:04:05, and the moment is a second later.
    assert one["file"] == "20260102T030406.000000Z-cpu2.noisetop"


def test_what_the_victim_did_itself_is_no_moment(tmp_path: Path) -> None:
    folder = opened(tmp_path / "worst")
    folder.take(taken(1, 5_000, own=True))
    assert folder.kept == []
    assert [file.name for file in (tmp_path / "worst").iterdir()] == [INDEX]


def test_a_lesser_moment_in_the_new_file_is_merged_into_it(tmp_path: Path) -> None:
    folder = opened(tmp_path / "worst")
    folder.take(taken(1, 5_000))
    folder.take(taken(1.5, 9_000))
    assert [one.size_ns for one in folder.kept] == [9_000]
    assert folder.contains(taken(2, 100).moment)
    assert not folder.contains(taken(2, 10_000).moment)
    assert not folder.contains(taken(5, 100).moment)


def test_it_goes_on_where_another_run_ended(tmp_path: Path) -> None:
    path = tmp_path / "worst"
    opened(path).take(taken(1, 5_000))
    (path / ".snapshot-4000000-aa").write_bytes(b"cut off")
    (path / f".{INDEX}.aa").write_bytes(b"cut off")
    (path / "20260102T030499.000000Z-cpu2.noisetop").write_bytes(b"no index has it")
    folder = opened(path, boot="6b")
    assert [one.size_ns for one in folder.kept] == [5_000]
    assert not folder.contains(taken(1, 100).moment)  # the clock began anew
    folder.take(taken(3, 7_000))
    assert [one.size_ns for one in folder.kept] == [7_000, 5_000]
    assert len(list(path.iterdir())) == 3


def test_fewer_to_keep_removes_the_least(tmp_path: Path) -> None:
    path = tmp_path / "worst"
    folder = opened(path)
    for number, noise_ns in enumerate((3_000, 5_000, 4_000)):
        folder.take(taken(10 * number, noise_ns))
    assert [one.size_ns for one in opened(path, keep=1).kept] == [5_000]
    assert len(list(path.iterdir())) == 2


@pytest.mark.parametrize("content", ["{}", "[1]", "x", '[{"file": "../x.noisetop"}]'])
def test_a_folder_of_somebody_else_is_left_alone(tmp_path: Path, content: str) -> None:
    (tmp_path / INDEX).write_text(content)
    with pytest.raises(UsageError, match="choose another folder"):
        opened(tmp_path)
    (tmp_path / INDEX).unlink()
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(UsageError, match="choose an empty folder"):
        opened(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["letter.txt"]
