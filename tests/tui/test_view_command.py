"""``noisetop view``: what it refuses, in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from noisetop import cli
from noisetop.errors import NoisetopError
from tests.recordings import DATA

NOISY = str(DATA / "noisy.noisetop")


def refused(*arguments: str) -> str:
    with pytest.raises(NoisetopError) as told:
        cli.run(["view", *arguments])
    assert "\n" not in str(told.value)
    return str(told.value)


def test_what_is_no_recording(tmp_path: Path) -> None:
    assert "there is no file" in refused(str(tmp_path / "none.noisetop"))
    wrong = tmp_path / "wrong.noisetop"
    wrong.write_text("nothing of ours")
    assert "is not a recording of noisetop" in refused(str(wrong))
    cut = tmp_path / "cut.noisetop"
    cut.write_bytes(Path(NOISY).read_bytes()[:2_000])
    assert "is damaged" in refused(str(cut))


def test_a_stream_that_is_no_terminal() -> None:
    words = f"view needs a terminal to draw on: noisetop report {NOISY} prints text"
    assert refused(NOISY) == words


def test_a_terminal_that_is_dumb(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "dumb")
    assert "view needs a terminal to draw on" in refused(NOISY)


def test_two_recordings_without_a_terminal() -> None:
    words = f"view needs a terminal to draw on: noisetop compare {NOISY} {NOISY} prints text"
    assert refused(NOISY, NOISY) == words


def test_an_interval_that_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "is not a duration" in refused(NOISY, "--interval", "soon")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert "makes more than 20000 periods" in refused(NOISY, "--interval", "10us")
