"""The fuzzer itself: it is silent on what is whole, and on what it has found before."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz import commands
from tests.fuzz.mutant import Judge, Mutant, mutant
from tests.fuzz.originals import Original, originals
from tests.fuzz.raw_format import RawFile

FILES = originals()
CORPUS = sorted((Path(__file__).parent / "corpus").iterdir())


@pytest.mark.parametrize("name", FILES)
def test_nothing_is_wrong_with_a_whole_file(tmp_path: Path, name: str) -> None:
    judge = Judge(FILES, tmp_path)
    for number in range(8):
        whole = Mutant(number, FILES[name], FILES[name].content, is_forged=False)
        assert not list(judge.findings(whole))


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
    judge = Judge(FILES, tmp_path)
    quiet: dict[str, object] = {"damage": "", "cpus": {}, "duration_ns": 1}
    said = iter([{**quiet, "lost": 1}, {**quiet, "lost": 2}])
    monkeypatch.setattr("tests.fuzz.commands.totals", lambda ran: next(said))
    monkeypatch.setattr("tests.fuzz.mutant._RUNS", {"raw": lambda *_: iter([REPORTED])})
    changed = Mutant(1, FILES["raw"], b"", is_forged=False)
    assert [one.kind for one in judge.findings(changed)] == ["silent"]


REPORTED = commands.Ran(("report", "--json"), 0, "{}", "")
