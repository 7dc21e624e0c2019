"""The overlay with the waits of the victims."""

from __future__ import annotations

from noisetop.events.waits import TaskWait
from noisetop.summary.summary import VictimWait
from noisetop.tui.panels.waits import Waits
from tests.builders import FakeFeed
from tests.tui.driving import busy, dashboard, overlay, screen, shown

PREEMPTED = TaskWait({"preempted": 3, "woken": 1}, {"preempted": 6_000, "woken": 250}, 4_000)


async def test_each_victim_tells_how_long_it_waited_and_why() -> None:
    hostile = VictimWait(4711, "\x1b[31mloop", PREEMPTED)
    feed = FakeFeed(busy(waits=(hostile,)))
    async with dashboard(feed, (100, 30)) as (app, pilot):
        await shown(app, pilot)
        await pilot.press("v")
        assert isinstance(overlay(app), Waits)
        text = screen(app)
        for part in ("6.25 µs", "4.00 µs", "preempted#", "6.00 µs", "250 ns", "loop 4711"):
            assert part in text
        assert "\x1b" not in text
        await pilot.press("v")
        assert not isinstance(overlay(app), Waits)


async def test_it_says_so_when_there_is_nothing_to_show() -> None:
    feed = FakeFeed()
    async with dashboard(feed, (100, 30)) as (app, pilot):
        await pilot.press("v")
        assert "no sample yet" in screen(app)
        feed.push(busy())
        await shown(app, pilot)
        assert "no victim waited" in screen(app)
