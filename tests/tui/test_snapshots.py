"""Each panel as a picture, at three sizes, dark, light and without colour.

After a change that is meant: ``.venv/bin/pytest tests/tui/test_snapshots.py --snapshot-update``,
and look at the pictures.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
import textual
from pytest_textual_snapshot import SVGImageExtension
from syrupy.assertion import SnapshotAssertion
from textual.pilot import Pilot

from noisetop.live.pair import Pair
from noisetop.live.playback_feed import PlaybackFeed
from noisetop.tui.app import CHANGES, Dashboard
from noisetop.tui.severity import DARK, use_palette
from tests.recordings import DATA
from tests.tui.driving import screen, until
from tests.tui.test_pair import feed_of
from tests.tui.test_playback import NOISY, opened_noisy, shows

_DRAWN_BY = "8.2"
"""Version of Textual; others draw some things differently."""
_MUST_RUN = "NOISETOP_MUST_RUN"
"""Set where a skipped test is a failure."""
_PANELS: dict[str, tuple[tuple[str, ...], str]] = {
    "causes": (("d",), "in this part"),
    "heat-map": (("m",), "share of noise:"),
    "net-times": (("m", "l"), "interruptions:"),
    "flame": (("f", "down", "down"), "% of all"),
    "moments": (("W",), "ms"),
    "moment": (("W", "enter"), "Enter zooms"),
    "victims": (("v",), "Esc closes"),
    "hardware": (("w",), "not counted as noise"),
    "triggers": (("b",), "→ triggers"),
    "who": (("b", "enter"), "remedy"),
    "cause": (("d", "enter"), "undo"),
    "histogram": (("H",), "→ histogram"),
}
"""Keys that open it, and text that is there when it is drawn. Not the help, which lists the keys of
all panels: a new panel changes no picture."""


@pytest.fixture
def picture(snapshot: SnapshotAssertion) -> Iterator[SnapshotAssertion]:
    if not textual.__version__.startswith(f"{_DRAWN_BY}."):
        obstacle = f"the pictures are those of Textual {_DRAWN_BY}, here is {textual.__version__}"
        if os.environ.get(_MUST_RUN):
            pytest.fail(f"{obstacle}: pip install 'textual=={_DRAWN_BY}.*'")
        pytest.skip(obstacle)
    yield snapshot.use_extension(SVGImageExtension)
    use_palette(DARK)


async def _drawn(app: Dashboard, pilot: Pilot[bool], text: str) -> str:
    await until(pilot, lambda: text in screen(app))
    return app.export_screenshot(title="noisetop")


async def _settled(app: Dashboard, pilot: Pilot[bool], feed: PlaybackFeed) -> None:
    """Once the causes are in view, where they are wanted."""

    def is_settled() -> bool:
        latest, causes = app.latest, feed._causes
        found = causes.of(feed.wanted)
        there = latest is not None and latest.diagnosis is found
        return there and (found is not None or not causes.wanted)

    await until(pilot, is_settled)


@pytest.mark.parametrize(
    ("size", "look"),
    [
        ((80, 24), "dark"),
        ((120, 40), "dark"),
        ((200, 50), "dark"),
        ((80, 24), "light"),
        ((80, 24), "no-colour"),
    ],
    ids=lambda one: one if isinstance(one, str) else "{}x{}".format(*one),
)
async def test_every_panel(
    size: tuple[int, int], look: str, picture: SnapshotAssertion, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    if look == "no-colour":
        monkeypatch.setenv("NO_COLOR", "1")
    async with opened_noisy(size) as (app, pilot, feed):
        if look == "light":
            app.show_look("light")
        await until(pilot, lambda: len(feed.moments) == 100)
        await _settled(app, pilot, feed)
        assert picture(name="overview") == await _drawn(app, pilot, "whole recording")
        for name, (keys, text) in _PANELS.items():
            for key in keys:
                await pilot.press(key)
                await pilot.pause()
            assert picture(name=name) == await _drawn(app, pilot, text)
            for _ in keys:
                if app.screen is not app.screen_stack[0]:
                    await pilot.press("escape")
        await pilot.press("n")
        await shows(app, pilot, lambda at: at.moment == 0)
        await _settled(app, pilot, feed)
        assert picture(name="playback") == await _drawn(app, pilot, "worst 1 of")


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 50)], ids="{0[0]}x{0[1]}".format)
async def test_two_recordings(size: tuple[int, int], picture: SnapshotAssertion) -> None:
    files = DATA / "unloaded.noisetop", NOISY
    pair = Pair(feed_of(files[0]), feed_of(files[1]), files)
    app = Dashboard(pair.shown, pair=pair)
    app.begins_with = CHANGES
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: app.latest is not None)
        assert picture == await _drawn(app, pilot, "significant changes")
