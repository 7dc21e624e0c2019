"""What holds for every exporter, also for one that is added later."""

from __future__ import annotations

import io
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from noisetop.errors import UsageError
from noisetop.events.interruption import Source
from noisetop.exporters import (
    exporter_names,
    exporters_by_suffix,
    load_exporter,
    recording_output,
)
from noisetop.recording.open import open_recording
from noisetop.recording.recording import Recording
from tests.recordings import (
    DATA,
    everything,
    fault,
    interruption,
    recording,
    table,
    write_recording,
)

RECORDINGS: dict[str, Callable[[], Recording]] = {
    "empty": lambda: recording(cpus=()),
    "quiet": lambda: recording(),
    "tiny": lambda: recording(table(interruption(10, 20))),
    "idle only": lambda: recording(table(interruption(10, 20, victim=0, tid=0))),
    "everything": everything,
    "class of a new word": lambda: recording(
        table(interruption(10, 20), fault(40, 0, source=1)),
        sources=[Source(("word", "taken")), Source(("beside", "moment"))],
    ),
    "quiet machine": lambda: open_recording(DATA / "quiet.noisetop"),
    "unloaded machine": lambda: open_recording(DATA / "unloaded.noisetop"),
    "noisy machine": lambda: open_recording(DATA / "noisy.noisetop"),
}


@pytest.fixture(params=RECORDINGS)
def recorded(request: pytest.FixtureRequest) -> Recording:
    return RECORDINGS[request.param]()


@pytest.mark.parametrize("name", exporter_names())
def test_the_same_recording_gives_the_same_bytes(name: str, recorded: Recording) -> None:
    first, second = io.BytesIO(), io.BytesIO()
    load_exporter(name).write(recorded, first)
    load_exporter(name).write(recorded, second)
    assert first.getvalue() == second.getvalue()


@pytest.mark.parametrize("name", exporter_names())
def test_has_suffixes_and_help(name: str) -> None:
    exporter = load_exporter(name)
    assert exporter.SUFFIXES
    assert all(suffix.startswith(".") for suffix in exporter.SUFFIXES)
    assert exporter.HELP


def test_no_two_exporters_share_a_suffix() -> None:
    suffixes = [suffix for name in exporter_names() for suffix in load_exporter(name).SUFFIXES]
    assert sorted(suffixes) == sorted(exporters_by_suffix())


@pytest.mark.parametrize("suffix", exporters_by_suffix())
def test_chosen_by_the_end_of_the_name(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"a.b{suffix.upper()}"
    write_recording(recording(), path, force=False)
    expected = io.BytesIO()
    exporters_by_suffix()[suffix].write(recording(), expected)
    assert path.read_bytes() == expected.getvalue()


@pytest.mark.parametrize("name", ["a", "a.txt", "json", "a.gz", "a.json.bz2"])
def test_an_unknown_end_names_those_that_are_known(name: str) -> None:
    with pytest.raises(UsageError) as error:
        recording_output(Path(name), force=False)
    assert all(suffix in str(error.value) for suffix in exporters_by_suffix())
    assert error.value.exit_code == 2


def test_an_exporter_that_fails_leaves_no_file(tmp_path: Path) -> None:
    broken = recording()
    broken.read_chunks = lambda: 1 // 0  # type: ignore[assignment,return-value]
    with pytest.raises(ZeroDivisionError):
        write_recording(broken, tmp_path / "a.json", force=False)
    assert list(tmp_path.iterdir()) == []


def test_only_the_owner_reads_a_recording(tmp_path: Path) -> None:
    path = tmp_path / "a.noisetop"
    write_recording(everything(), path, force=False)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
