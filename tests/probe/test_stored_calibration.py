"""A calibration that was kept is found again; anything else in its place is as none."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from noisetop.counters.calibration import MEASURED, Calibration, EntryCost
from noisetop.errors import NoisetopError
from noisetop.probe.stored_calibration import calibration_facts, calibration_path, keep, kept

FACTS = {"cpu": "x", "kernel": "6.1"}
MADE = Calibration({"timer": EntryCost(5_000, 4_000, 7_000, MEASURED)})


def test_what_is_kept_is_found(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    path = keep(folder, FACTS, MADE)
    assert list(folder.iterdir()) == [path]
    assert kept([folder], FACTS) == (MADE, [])
    newer = Calibration({"timer": EntryCost(1, 1, 1, MEASURED)})
    assert keep(folder, FACTS, newer) == path
    assert kept([folder], FACTS) == (newer, [])


def test_other_machines_have_files_of_their_own(tmp_path: Path) -> None:
    keep(tmp_path, FACTS, MADE)
    for key in FACTS:
        assert kept([tmp_path], FACTS | {key: "other"}) == (None, [])


def test_the_first_folder_comes_first(tmp_path: Path) -> None:
    other = Calibration({"timer": EntryCost(1, 1, 1, MEASURED)})
    keep(tmp_path / "system", FACTS, other)
    folders = [tmp_path / "user", tmp_path / "system"]
    assert kept(folders, FACTS) == (other, [])
    keep(tmp_path / "user", FACTS, MADE)
    assert kept(folders, FACTS) == (MADE, [])


def good() -> dict[str, object]:
    cost = {"entry_ns": 5, "spread_ns": [4, 6], "source": MEASURED}
    return {
        "format": "noisetop calibration",
        "machine": FACTS,
        "calibration": {"kinds": {"timer": cost}, "reason": ""},
    }


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[" * 100_000,
        b"[]",
        b"7",
        b"{}",
        json.dumps(good() | {"format": "other"}).encode(),
        json.dumps(good() | {"machine": {}}).encode(),
        json.dumps(good() | {"calibration": {"kinds": {}, "reason": ""}}).encode(),
        json.dumps(good() | {"calibration": {"kinds": {"\x1b[2J": {}}, "reason": ""}}).encode(),
        b" " * (1 << 20) + json.dumps(good()).encode(),
    ],
)
def test_a_bad_file_is_as_none_with_one_line(content: bytes, tmp_path: Path) -> None:
    path = calibration_path(tmp_path, FACTS)
    path.write_bytes(content)
    found, [problem] = kept([tmp_path], FACTS)
    assert found is None
    assert problem.isprintable()
    assert str(path) in problem


def test_what_is_no_file_is_as_none_and_waits_for_nobody(tmp_path: Path) -> None:
    for place, make in (("folder", Path.mkdir), ("pipe", os.mkfifo)):
        path = calibration_path(tmp_path / place, FACTS)
        path.parent.mkdir()
        make(path)
        found, problems = kept([path.parent], FACTS)
        assert found is None
        assert len(problems) == 1


def test_a_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("precious")
    folder = tmp_path / "state"
    folder.mkdir()
    calibration_path(folder, FACTS).symlink_to(elsewhere)
    keep(folder, FACTS, MADE)
    assert elsewhere.read_text() == "precious"
    assert kept([folder], FACTS) == (MADE, [])


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(NoisetopError, match="cannot keep the calibration in"):
        keep(tmp_path / "file" / "folder", FACTS, MADE)


def test_the_programs_are_a_part_of_the_key(tmp_path: Path) -> None:
    assert calibration_facts(tmp_path)["programs"]
