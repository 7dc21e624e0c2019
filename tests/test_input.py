"""Input files: nothing waits for a writer, and what others do to a file ends no process."""

from __future__ import annotations

import os
import socket
import tracemalloc
from pathlib import Path

import pytest

from noisetop.cli import run
from noisetop.diagnosis import saved
from noisetop.errors import NoisetopError
from noisetop.gaps.files import read_result
from noisetop.input import InputBytes, open_input, read_up_to
from tests.gaps.results import spin_result, write_result
from tests.recordings import DATA

QUIET = str(DATA / "quiet.noisetop")


def test_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"content")
    (tmp_path / "link").symlink_to(path)
    for name in ("a", "link"):
        with open_input(tmp_path / name, "a file") as file:
            assert file.read() == b"content"


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(tmp_path / "socket"))
    for path in (tmp_path, tmp_path / "pipe", tmp_path / "socket", Path("/dev/null")):
        with pytest.raises(NoisetopError, match=f"^{path} is not a file: give a recording$"):
            open_input(path, "a recording")
    listener.close()


def test_what_reads_by_position_closes_its_descriptor_without_a_finaliser(tmp_path: Path) -> None:
    """Ctrl-C in a finaliser would be lost."""
    path = tmp_path / "a"
    path.write_bytes(b"content")
    before = {*Path("/proc/self/fd").iterdir()}
    with path.open("rb") as file:
        content = InputBytes(file)
    assert bytes(content.at(3, 4)) == b"tent"
    assert len(content) == 7
    del content
    assert {*Path("/proc/self/fd").iterdir()} == before
    assert not hasattr(InputBytes, "__del__")


@pytest.mark.parametrize(
    "arguments",
    [
        ("report", "PIPE"),
        ("export", "PIPE", "-o", "OUT"),
        ("compare", "PIPE", QUIET),
        ("compare", QUIET, "PIPE"),
        ("compare", "RESULT", "PIPE"),
        ("diagnose", "PIPE"),
        ("diagnose", QUIET, "--against", "PIPE"),
    ],
    ids=" ".join,
)
def test_no_command_waits_for_a_pipe(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    os.mkfifo(tmp_path / "pipe")
    write_result(spin_result(), tmp_path / "spin.json")
    places = {"PIPE": "pipe", "OUT": "a.svg", "RESULT": "spin.json"}
    given = [str(tmp_path / places[one]) if one in places else one for one in arguments]
    with pytest.raises(NoisetopError, match=r"is not a file|are of different kinds"):
        run(given)


def test_bytes_by_position(tmp_path: Path) -> None:
    path = tmp_path / "a"
    content = os.urandom(3 << 20)
    path.write_bytes(content)
    with path.open("rb") as file:
        found = InputBytes(file)
    assert len(found) == len(content)
    for at, size in ((0, 5), (7, 2 << 20), (1 << 20, 9), (3, 3), (len(content) - 4, 10)):
        assert found.at(at, size) == content[at : at + size]
    assert bytes(found.at(len(content) + 1, 5)) == b""


def test_bytes_that_were_read_stay_as_they_were(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(bytes(100))
    with path.open("rb") as file:
        found = InputBytes(file)
    before = found.at(0, 100)
    path.write_bytes(b"x")
    assert before == bytes(100)
    assert bytes(found.at(2 << 20, 5)) == b""


def test_no_more_than_a_bound_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"12345")
    for most, read in ((9, b"12345"), (5, b"12345"), (4, b"12345"), (2, b"123")):
        with path.open("rb") as file:
            assert read_up_to(file, most) == read


def test_reading_takes_no_more_memory_than_there_is_in_the_file(tmp_path: Path) -> None:
    result, before = tmp_path / "spin.json", tmp_path / "before.json"
    write_result(spin_result(), result)
    assert run(["diagnose", QUIET, "--save", str(before)]) == 0
    tracemalloc.start()
    try:
        read_result(result)
        saved.load(before)
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()
