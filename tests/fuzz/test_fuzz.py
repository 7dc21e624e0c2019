"""The fuzzer itself: it is silent on what is whole, and on what it has found before."""

from __future__ import annotations

import signal
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz import commands
from tests.fuzz.mutant import WITH_ALL, Judge, Mutant, mutant
from tests.fuzz.once import pieces_of
from tests.fuzz.originals import Original, originals
from tests.fuzz.raw_format import RawFile
from tests.fuzz.read import Read, read
from tests.fuzz.worker import note_start, read_progress

FILES = originals()
CORPUS = sorted((Path(__file__).parent / "corpus").iterdir())


@pytest.mark.parametrize("name", FILES)
def test_nothing_is_wrong_with_a_whole_file(tmp_path: Path, name: str) -> None:
    judge = Judge(FILES, tmp_path)
    for number in (0, 1, WITH_ALL):
        whole = Mutant(number, FILES[name], FILES[name].content, is_forged=False)
        assert not list(judge.findings(whole))
    assert judge.refused == 0


@pytest.mark.parametrize("name", [name for name in FILES if FILES[name].format != "saved"])
def test_every_command_takes_a_whole_file(tmp_path: Path, name: str) -> None:
    path = tmp_path / "whole"
    path.write_bytes(FILES[name].content)
    calls_on = commands.of_result if FILES[name].format == "result" else commands.of_recording
    for call in calls_on(path, path, tmp_path, Random(1)):
        is_empty = name == "compact of 0.1" and "--histogram" in call.argv
        assert commands.run(*call.argv).status == (2 if is_empty else 0)


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_its_reader_refuses_is_refused_by_each_command(
    tmp_path: Path, name: str
) -> None:
    judge = Judge(FILES, tmp_path)
    for number, content in ((0, b""), (WITH_ALL, FILES[name].content[:25])):
        cut = Mutant(number, FILES[name], content, is_forged=False)
        assert not list(judge.findings(cut))
    assert judge.refused == 2
    assert judge.count > 1


def test_a_command_that_takes_what_the_reader_refuses_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("noisetop.cli.run", lambda argv: 0)
    cut = Mutant(0, FILES["raw"], b"", is_forged=False)
    assert {one.kind for one in Judge(FILES, tmp_path).findings(cut)} == {"words"}


@pytest.mark.parametrize("number", [0, 1, 2, 3])
def test_reading_in_pieces_gives_the_same(tmp_path: Path, number: int) -> None:
    path = tmp_path / "whole"
    for one in FILES.values():
        path.write_bytes(one.content)
        with pieces_of(number):
            in_pieces = read(path, one.format)
        assert in_pieces == read(path, one.format)


def test_a_mutant_that_takes_too_long_ends_with_a_traceback() -> None:
    code = (
        "import time; from tests.fuzz import worker; worker.HANG_S = 0.1\n"
        "def hang():\n  while True: pass\n"
        "worker.Watch().renew(time.monotonic()); hang()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGPROF
    assert "in hang" in done.stderr


def test_progress_is_read_as_it_was_noted(tmp_path: Path) -> None:
    note_start(tmp_path, 7)
    assert read_progress(tmp_path) == (7, 0, 0)


@pytest.mark.generated
@given(number=st.integers(0, 1 << 40))
def test_nothing_is_wrong_with_a_mutant(tmp_path: Path, number: int) -> None:
    assert not list(Judge(FILES, tmp_path).findings(mutant(number, FILES)))


def test_a_number_gives_the_same_mutant_every_time() -> None:
    again = originals()
    for number in range(20):
        assert mutant(number, FILES).content == mutant(number, again).content


@pytest.mark.parametrize("name", ["raw", "raw of 0.2"])
def test_a_raw_file_that_is_put_together_again_is_the_same(name: str) -> None:
    assert RawFile.parsed(FILES[name].content).built() == FILES[name].content


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.name)
def test_what_was_found_before_is_found_no_more(tmp_path: Path, path: Path) -> None:
    format = path.suffix.removeprefix(".")
    judge = Judge({**FILES, path.name: Original(path.name, format, path.read_bytes())}, tmp_path)
    for number in range(12):
        found = Mutant(number, judge.originals[path.name], path.read_bytes(), is_forged=True)
        assert not list(judge.findings(found))


def fail(argv: list[str]) -> int:
    raise KeyError(argv[0])


def escape(argv: list[str]) -> int:
    print("\x1b[31mred")
    return 0


def warn(argv: list[str]) -> int:
    warnings.warn("overflow", RuntimeWarning, stacklevel=1)
    return 0


@pytest.mark.parametrize(
    ("command", "kind"), [(fail, "traceback"), (escape, "escape"), (warn, "traceback")]
)
def test_what_no_command_may_do_is_found(
    monkeypatch: pytest.MonkeyPatch, command: Callable[[list[str]], int], kind: str
) -> None:
    monkeypatch.setattr("noisetop.cli.run", command)
    found = commands.run("report", "x").finding
    assert found is not None
    assert found.kind == kind


def test_totals_that_changed_without_a_word_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quiet: dict[str, object] = {"damage": "", "cpus": {}, "duration_ns": 1}
    said = iter([Read({**quiet, "lost": 1}), Read({**quiet, "lost": 2})])
    monkeypatch.setattr("tests.fuzz.mutant.read", lambda path, format: next(said))
    monkeypatch.setattr("tests.fuzz.mutant._CALLS", {"raw": lambda *_: []})
    changed = Mutant(WITH_ALL, FILES["raw"], b"", is_forged=False)
    found = list(Judge(FILES, tmp_path).findings(changed))
    assert [one.kind for one in found] == ["silent"]
