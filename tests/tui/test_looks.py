"""Themes, what the command palette offers, and saved screens."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from textual.command import CommandList

from noisetop.tui.panels.flame import Flame
from noisetop.tui.panels.help import Help
from noisetop.tui.severity import DARK, LEVELS, LIGHT, UNIFORM, Palette, text_on, use_palette
from noisetop.tui.themes import LOOKS, look_of_terminal
from tests.builders import FakeFeed
from tests.tui.driving import busy, dashboard, overlay, screen, shown, until


@pytest.fixture(autouse=True)
def _usual_colours() -> Iterator[None]:
    yield
    use_palette(DARK)


def _luminance(rgb: tuple[int, int, int]) -> float:
    """Relative luminance of WCAG 2.1."""
    parts = [one / 255 for one in rgb]
    parts = [one / 12.92 if one <= 0.03928 else ((one + 0.055) / 1.055) ** 2.4 for one in parts]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def _contrast(one: float, other: float) -> float:
    low, high = sorted((one, other))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize(("palette", "ground"), [(DARK, 0.012), (LIGHT, 0.75), (UNIFORM, 0.012)])
def test_bad_levels_are_legible_on_the_ground(palette: Palette, ground: float) -> None:
    assert len(palette) == len(LEVELS)
    for rgb in palette[3:]:
        assert _contrast(_luminance(rgb), ground) >= 3


@pytest.mark.parametrize("palette", [DARK, LIGHT, UNIFORM])
def test_marks_are_legible_in_a_cell(palette: Palette) -> None:
    for rgb in palette[1:]:
        text = 0.0 if text_on("#{:02x}{:02x}{:02x}".format(*rgb)) == "#000000" else 1.0
        assert _contrast(_luminance(rgb), text) >= 3


def test_brightness_alone_tells_the_levels_of_the_safe_look() -> None:
    found = [_luminance(rgb) for rgb in UNIFORM]
    assert all(_contrast(a, b) > 1.2 for a, b in pairwise(found))
    assert found == sorted(found)


@pytest.mark.parametrize(
    ("told", "look"), [("15;0", "dark"), ("0;15", "light"), ("0;default;15", "light"), ("", "dark")]
)
def test_the_look_that_the_terminal_tells(told: str, look: str) -> None:
    assert look_of_terminal({"COLORFGBG": told}) == look


async def test_every_look() -> None:
    async with dashboard(FakeFeed(busy())) as (app, pilot):
        await shown(app, pilot)
        before, text, seen = app.look, screen(app), []
        for _ in LOOKS:
            await pilot.press("T")
            seen.append(app.look)
            assert app.theme in app.available_themes
            assert text.splitlines()[:10] == screen(app).splitlines()[:10]
        assert sorted(seen) == sorted(LOOKS)
        assert app.look == before


async def test_saved_screens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    async with dashboard(FakeFeed(busy())) as (app, pilot):
        await shown(app, pilot)
        text = "\n".join(line.rstrip() for line in screen(app).splitlines())
        await pilot.press("X", "question_mark", "x")
        await until(pilot, lambda: len(list(tmp_path.iterdir())) == 2)
        svg, plain = sorted(tmp_path.iterdir(), key=lambda one: one.suffix)
        assert plain.read_text() == f"{text}\n"
        assert "noisetop&#160;help" in svg.read_text()


async def test_where_nothing_can_be_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    async with dashboard(FakeFeed(busy())) as (app, pilot):
        await shown(app, pilot)
        await pilot.press("x")
        await until(pilot, lambda: bool(app._notifications))
        assert [one.severity for one in app._notifications] == ["error"]


async def test_the_palette_has_our_commands_alone() -> None:
    async with dashboard(FakeFeed(busy())) as (app, pilot):
        await shown(app, pilot)
        titles = [one.title for one in app.get_system_commands(app.screen)]
        assert "Reset the counters" in titles
        assert "Worst moments: what took the time, and by whom" in titles
        assert not any("next worst" in title or "Textual" in title for title in titles)
        await pilot.press("ctrl+p", *"worst mom")
        await until(pilot, lambda: app.screen.query_one(CommandList).option_count == 1)
        await pilot.press("enter")
        await until(pilot, lambda: overlay(app) is not None)


async def test_a_click_on_a_hint_does_what_its_key_does() -> None:
    async with dashboard(FakeFeed(busy())) as (app, pilot):
        await shown(app, pilot)
        for hint, opened in (("f flame", Flame), ("h help", Help)):
            place = screen(app).splitlines()[-1].index(hint)
            await pilot.click(offset=(place + 1, app.size.height - 1))
            await until(pilot, lambda opened=opened: isinstance(overlay(app), opened))  # type: ignore[misc]
            await pilot.press("escape")
        place = screen(app).splitlines()[-1].index("p pause")
        await pilot.click(offset=(place, app.size.height - 1))
        assert app.state.paused
        await pilot.click(offset=(place + 8, app.size.height - 1))  # the gap behind it
        assert app.state.paused
