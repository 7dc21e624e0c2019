"""A recording in the dashboard, driven by keys and the mouse."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
from textual.pilot import Pilot

from noisetop.live.periods import Periods, usual_length_ns
from noisetop.live.playback import Playback
from noisetop.live.playback_feed import PlaybackFeed
from noisetop.live.position import Position
from noisetop.recording.open import open_recording
from noisetop.recording.recording import Recording
from noisetop.summary.recorded import summary_of
from noisetop.tui.app import Dashboard
from noisetop.tui.panels.help import Help
from noisetop.tui.panels.jump import Jump
from noisetop.tui.timeline_bar import TimelineBar
from tests.recordings import DATA, interruption, recording, table
from tests.tui.driving import cpus, labels, overlay, screen, until

NOISY = DATA / "noisy.noisetop"


@asynccontextmanager
async def opened(
    recorded: Recording, size: tuple[int, int] = (120, 40)
) -> AsyncIterator[tuple[Dashboard, Pilot[bool], PlaybackFeed]]:
    """Once the whole recording is shown and all is known of it."""
    async with _played(_feed_of(recorded), size) as seen:
        yield seen


@asynccontextmanager
async def opened_noisy(
    size: tuple[int, int] = (120, 40),
) -> AsyncIterator[tuple[Dashboard, Pilot[bool], PlaybackFeed]]:
    """As opened(), of NOISY, which is read for the first test alone: others show it anew, as the
    view of two recordings does."""
    feed = _noisy_feed()
    feed.reopen()
    feed.diagnose(wanted=False)
    feed.want_moments(wanted=False)
    feed.go(Position.whole(len(feed.playback.periods)))
    async with _played(feed, size) as seen:
        yield seen


@functools.cache
def _noisy_feed() -> PlaybackFeed:
    return _feed_of(open_recording(NOISY))


def _feed_of(recorded: Recording) -> PlaybackFeed:
    length_ns = usual_length_ns(recorded.duration_ns)
    periods = Periods.of(recorded.start_ns, recorded.end_ns, length_ns)
    return PlaybackFeed(Playback(recorded, periods), "file.noisetop  CPUs 0-1")


@asynccontextmanager
async def _played(
    feed: PlaybackFeed, size: tuple[int, int]
) -> AsyncIterator[tuple[Dashboard, Pilot[bool], PlaybackFeed]]:
    app = Dashboard(feed)
    try:
        async with app.run_test(size=size) as pilot:
            await until(pilot, lambda: app.latest is not None)
            await until(pilot, lambda: feed.columns.newest + 1 == len(feed.playback.periods))
            yield app, pilot, feed
    finally:  # before the feed is shown again
        assert await asyncio.to_thread(app.reader_ended.wait, 10)


async def shows(app: Dashboard, pilot: Pilot[bool], right: Callable[[Position], bool]) -> Position:
    def is_right() -> bool:
        latest = app.latest
        return latest is not None and latest.position is not None and right(latest.position)

    await until(pilot, is_right)
    assert app.latest is not None
    assert app.latest.position is not None
    return app.latest.position


async def test_it_opens_with_the_whole_recording() -> None:
    async with opened(open_recording(NOISY)) as (app, _, _feed):
        assert app.latest is not None
        assert app.latest.total == summary_of(open_recording(NOISY))
        text = screen(app)
        assert "whole recording  300 ms" in text
        assert "16 periods of 20.0 ms" in text
        assert "recorded 2026-11-21" in text
        assert "Space play" in text
        assert "r reset" not in text


async def test_steps_and_figures_since_the_start() -> None:
    async with opened_noisy() as (app, pilot, feed):
        await pilot.press("full_stop")
        await shows(app, pilot, lambda at: (at.first, at.until) == (0, 1))
        await pilot.press("full_stop", "greater_than_sign", "comma")
        await shows(app, pilot, lambda at: (at.first, at.until) == (10, 11))
        assert app.latest is not None
        assert app.latest.total == feed.playback.span(10, 11)
        assert "from 00:00.20 to 00:00.22  20.0 ms" in screen(app)
        assert "period 11 of 16" in screen(app)
        await pilot.press("t")
        await shows(app, pilot, lambda at: (at.first, at.until) == (0, 11))
        assert "since start to 00:00.22" in screen(app)
        await pilot.press("a")
        await shows(app, pilot, lambda at: at.is_whole)


async def test_worst_moments_in_their_order() -> None:
    async with opened_noisy() as (app, pilot, feed):
        lengths = []
        for rank in range(3):
            await pilot.press("n")
            await shows(app, pilot, lambda at, rank=rank: at.moment == rank)  # type: ignore[misc]
            one = feed.moments[rank].interval
            assert app.latest is not None
            found = next(cpu for cpu in app.latest.total.cpus if cpu.cpu == one.cpu)
            assert found.max_single_ns >= one.noise_ns
            lengths.append(one.noise_ns)
        assert lengths == sorted(lengths, reverse=True)
        assert "worst 3 of 100: " in screen(app)
        await pilot.press("N")
        await shows(app, pilot, lambda at: at.moment == 1)


async def test_jump_to_a_time() -> None:
    async with opened_noisy() as (app, pilot, _feed):
        await pilot.press("J", *"100ms", "enter")
        await shows(app, pilot, lambda at: at.first == 5)
        await pilot.press("J", *"+50ms", "enter")
        await shows(app, pilot, lambda at: at.first == 7)
        await pilot.press("J", *"soon", "enter")
        await until(pilot, lambda: "'soon' is no time" in screen(app))
        await pilot.press("escape", "comma")
        await shows(app, pilot, lambda at: at.first == 6)
        assert "is no time" not in screen(app)
        await pilot.press("J", "a", "escape")
        assert not app.screen.query_one(Jump).has_class("open")
        assert app.latest is not None
        assert app.latest.position != Position.whole(16)


async def test_a_range_is_in_all_panels() -> None:
    async with opened_noisy() as (app, pilot, feed):
        await pilot.press("full_stop", "left_square_bracket")
        await shows(app, pilot, lambda at: at.mark == 0)
        assert "range from 00:00.00: ] ends it" in screen(app)
        await pilot.press("full_stop", "full_stop", "right_square_bracket")
        await shows(app, pilot, lambda at: (at.first, at.until) == (0, 3))
        assert app.latest is not None
        assert app.latest.total == feed.playback.span(0, 3)
        assert cpus(app).rows[0].cpu == feed.playback.span(0, 3).all_cpus()
        assert "periods 1 to 3 of 16" in screen(app)


async def test_playing_goes_to_the_end_and_stops() -> None:
    async with opened_noisy() as (app, pilot, feed):
        await pilot.press("plus", "plus", "space")
        assert feed.wanted.speed == 5
        await shows(app, pilot, lambda at: (at.first, at.until, at.playing) == (15, 16, False))


async def test_pause_and_a_click_on_the_timeline() -> None:
    async with opened_noisy() as (app, pilot, feed):
        await pilot.press("minus", "minus", "minus", "space")
        await shows(app, pilot, lambda at: at.playing)
        assert "PLAYING 0.1x" in screen(app)
        await pilot.press("p")
        await shows(app, pilot, lambda at: not at.playing)
        width = app.query_one(TimelineBar).size.width
        await pilot.click(TimelineBar, offset=(width - 2, 0))
        await shows(app, pilot, lambda at: at.first == 15)
        await pilot.click(TimelineBar, offset=(1, 0))
        await shows(app, pilot, lambda at: (at.first, at.until) == (0, 1))
        assert not feed.wanted.playing


async def test_causes_are_those_of_the_part() -> None:
    async with opened(open_recording(NOISY)) as (app, pilot, _feed):
        await pilot.press("d")
        await until(pilot, lambda: "This CPU processes received packets" in screen(app))
        assert "in this part (300 ms)" in screen(app)


async def test_keys_of_the_live_view_do_nothing() -> None:
    async with opened_noisy() as (app, pilot, _feed):
        before = labels(app)
        await pilot.press("r")
        await pilot.pause()
        assert labels(app) == before
        await pilot.press("question_mark")
        assert isinstance(overlay(app), Help)
        assert "the worst moment, then the next worst" in screen(app)
        assert "reset the counters" not in screen(app)


async def test_a_recording_without_noise() -> None:
    async with opened(recording(table(), cpus=(2,))) as (app, pilot, _feed):
        await pilot.press("n")
        await until(pilot, lambda: "no noise was recorded" in screen(app))


@pytest.mark.parametrize("size", [(80, 24), (200, 50), (33, 12), (3, 2)])
async def test_sizes(size: tuple[int, int]) -> None:
    rows = table(interruption(100, 5_000), interruption(600_000_000, 90_000))
    async with opened(recording(rows), size) as (app, pilot, _feed):
        await pilot.press("full_stop")
        await shows(app, pilot, lambda at: at.first == 0)
        screen(app)  # checks the width of every line
