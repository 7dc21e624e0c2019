"""From the smallest to the largest terminal: every panel draws, and every line has its width."""

from __future__ import annotations

import pytest

from tests.tui.driving import screen
from tests.tui.test_playback import opened_noisy

pytestmark = pytest.mark.usefixtures("each_change_is_drawn")

KEYS = ("question_mark", "d", "m", "f", "W", "v", "w", "b", "H", "O", "J")


@pytest.mark.parametrize(
    "size",
    [(60, 16), pytest.param((80, 24), marks=pytest.mark.thorough), (300, 80)],
    ids="{0[0]}x{0[1]}".format,
)
async def test_nothing_breaks(size: tuple[int, int]) -> None:
    async with opened_noisy(size) as (app, pilot, _feed):
        assert "file.noisetop" in screen(app).splitlines()[0]
        assert "q quit" in screen(app).splitlines()[-1]
        for key in KEYS:
            await pilot.press(key)
            await pilot.pause()
            screen(app)
            await pilot.press("enter")
            await pilot.pause()
            screen(app)
            while app.screen is not app.screen_stack[0]:
                await pilot.press("escape")
            await pilot.press("escape")


async def test_it_follows_the_terminal() -> None:
    async with opened_noisy((300, 80)) as (app, pilot, _feed):
        for width, height in ((60, 16), (120, 40), (80, 24), (300, 80), (60, 16)):
            await pilot.resize_terminal(width, height)
            await pilot.pause()
            assert app.size == (width, height)
            assert "q quit" in screen(app).splitlines()[-1]
