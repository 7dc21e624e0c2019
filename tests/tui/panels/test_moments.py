"""The worst moments: the list, one on a time axis, and the way back to the dashboard."""

from __future__ import annotations

import pytest

from noisetop.tui.app import Dashboard
from noisetop.tui.panels.moments import MomentTable
from noisetop.tui.panels.swim_lane import SwimLane
from tests.builders import FakeFeed
from tests.recordings import HOSTILE, everything, interruption, recording, table
from tests.tui.driving import busy, dashboard, overlay, screen, shown, until
from tests.tui.test_playback import opened, opened_noisy, shows


def _moments(app: Dashboard) -> MomentTable:
    panel = overlay(app)
    assert isinstance(panel, MomentTable)
    return panel


async def test_those_of_the_file_longest_first() -> None:
    async with opened_noisy() as (app, pilot, feed):
        await pilot.press("W")
        await until(pilot, lambda: bool(_moments(app).rows))
        assert [row.moment for row in _moments(app).rows] == list(feed.moments)
        longest = max(cpu.max_single_ns for cpu in feed.playback.total(16).cpus)
        assert _moments(app).rows[0].moment.interval.noise_ns == longest
        assert "thread › kdamond.0" in screen(app)
        assert "6.12 ms" in screen(app)


async def test_those_of_the_part_in_view() -> None:
    async with opened_noisy() as (app, pilot, feed):
        await pilot.press("full_stop", "full_stop")
        await shows(app, pilot, lambda at: (at.first, at.until) == (1, 2))
        await pilot.press("W")
        await until(pilot, lambda: bool(_moments(app).rows))
        start_ns, end_ns = feed.playback.periods.bounds_ns[1:3]
        ends = [row.moment.interval.end_ns for row in _moments(app).rows]
        assert all(start_ns < end <= end_ns for end in ends)
        assert "in this part" in screen(app)


async def test_one_on_a_time_axis() -> None:
    rows = table(
        interruption(4_000, 2_000, source=1, outermost=False, victim=101),
        interruption(0, 10_000, source=4, net_ns=8_000, tid=9, victim=101),
        interruption(10_100, 5_000, source=3, trigger=2, trigger_ns=9_000, victim=101),
    )
    async with opened(recording(rows)) as (app, pilot, _feed):
        await pilot.press("W")
        await until(pilot, lambda: bool(_moments(app).rows))
        await pilot.press("enter")
        lane = overlay(app)
        assert isinstance(lane, SwimLane)
        await until(pilot, lambda: "vmstat_update" in screen(app))
        assert "15.0 µs on CPU 2 at 0.000000 s" in lane.heading
        assert lane._parts[lane.at].net_ns == 8_000
        assert "from CPU 0" in screen(app)
        assert "╰" not in screen(app)
        await pilot.press("end")
        assert "╰" in screen(app)
        assert "by stress-ng 4711 on CPU 0, 1.10 µs before" in screen(app)
        await pilot.press("enter")
        assert "╷5.00 µs" not in screen(app)
        await pilot.press("enter")
        assert "╷5.00 µs" in screen(app)
        await pilot.press("escape")
        _moments(app)
        await pilot.press("escape")
        assert overlay(app) is None


async def test_the_way_to_its_cpu_and_its_period() -> None:
    async with opened_noisy() as (app, pilot, feed):
        await pilot.press("W")
        await until(pilot, lambda: bool(_moments(app).rows))
        await pilot.press("down", "down", "o")
        interval = feed.moments[2].interval
        position = await shows(app, pilot, lambda at: at.moment == 2)
        periods = feed.playback.periods
        assert periods.bounds_ns[position.first] <= interval.start_ns
        assert interval.end_ns <= periods.bounds_ns[position.until]
        assert app.state.view.cpu == interval.cpu
        assert overlay(app) is None


async def test_live_they_are_asked_for_only_while_it_is_open() -> None:
    feed = FakeFeed(busy())
    async with dashboard(feed) as (app, pilot):
        await shown(app, pilot)
        assert not feed.telling_moments
        await pilot.press("W")
        await until(pilot, lambda: "collecting data" in screen(app))
        assert feed.telling_moments
        await pilot.press("W")
        assert not feed.telling_moments


async def test_names_are_harmless() -> None:
    async with opened(everything(), (200, 40)) as (app, pilot, _feed):
        await pilot.press("W")
        await until(pilot, lambda: bool(_moments(app).rows))
        for _ in _moments(app).rows:
            await pilot.press("enter")
            assert "\x1b" not in screen(app)
            assert HOSTILE not in screen(app)
            await pilot.press("escape", "down")


@pytest.mark.parametrize(
    "size",
    [
        (80, 24),
        pytest.param((200, 50), marks=pytest.mark.thorough),
        pytest.param((20, 6), marks=pytest.mark.thorough),
        (3, 2),
    ],
)
async def test_sizes(size: tuple[int, int]) -> None:
    async with opened_noisy(size) as (app, pilot, _feed):
        await pilot.press("W")
        await until(pilot, lambda: bool(_moments(app).rows))
        for key in ("enter", "down", "enter", "end", "home"):
            await pilot.press(key)
            screen(app)  # checks the width of every line
