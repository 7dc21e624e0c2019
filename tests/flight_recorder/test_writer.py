from __future__ import annotations

import threading
from pathlib import Path

import pytest

from noisetop.errors import NoisetopError
from noisetop.flight_recorder.snapshot_files import Taken
from noisetop.flight_recorder.worst_folder import WorstFolder
from noisetop.flight_recorder.writer import SnapshotWriter
from noisetop.summary.cpu_victim import CpuVictims
from tests.flight_recorder.made_up import taken


class SlowDisk:
    """Writes when it is let."""

    def __init__(self, error: Exception | None = None) -> None:
        self.let = threading.Event()
        self.error = error
        self.sizes: list[int] = []

    def take(self, taken: Taken) -> CpuVictims:
        assert self.let.wait(30)
        if self.error:
            raise self.error
        self.sizes.append(taken.moment.size_ns)
        return {2: None}


def test_a_slow_disk_keeps_nobody_waiting_and_bounds_what_waits() -> None:
    said: list[str] = []
    disk = SlowDisk()
    with SnapshotWriter(disk, said.append) as writer:
        accepted = [writer.put(taken(1, 1_000 + number)) for number in range(6)]
        assert accepted == [True] * 3 + [False] * 3
        assert writer.busy
        disk.let.set()
    assert disk.sizes == [1_000, 1_001, 1_002]
    assert (writer.whose, writer.written, writer.failed, said) == ({2: None}, 3, 0, [])


@pytest.mark.parametrize(
    "error", [OSError(28, "No space left on device"), NoisetopError("the folder is gone")]
)
def test_what_cannot_be_written_is_told_and_the_next_one_is(error: Exception) -> None:
    said: list[str] = []
    disk = SlowDisk(error)
    disk.let.set()
    with SnapshotWriter(disk, said.append) as writer:
        writer.put(taken(1, 1_000))
        while writer.busy:
            writer.collect()
        disk.error = None
        writer.put(taken(1, 2_000))
    assert (writer.written, writer.failed, disk.sizes) == (2, 1, [2_000])
    [line] = said
    assert str(error).rpartition("] ")[2] in line
    assert line.endswith("recording goes on")


def test_a_defect_of_ours_is_not_hidden() -> None:
    disk = SlowDisk(AssertionError("ours"))
    disk.let.set()
    with pytest.raises(AssertionError, match="ours"), SnapshotWriter(disk, print) as writer:
        writer.put(taken(1, 1_000))


def test_a_disk_that_is_full_leaves_nothing_behind(tmp_path: Path) -> None:
    folder = WorstFolder(tmp_path / "worst", 2, "single", "5a")
    folder.open()

    def full(fd: int) -> None:
        raise OSError(28, "No space left on device")

    broken = taken(1, 1_000)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(broken.snapshot), "write", lambda _, fd: full(fd))
        with pytest.raises(OSError, match="No space"):
            folder.take(broken)
    assert [path.name for path in (tmp_path / "worst").iterdir()] == ["index.json"]
    folder.take(broken)
    assert len(folder.kept) == 1
