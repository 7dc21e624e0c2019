"""How often the live view draws, by keys; and a time to go back to."""

from __future__ import annotations

from noisetop.tui.panels.jump import Jump
from noisetop.tui.refresh import STEPS_NS, next_refresh
from tests.builders import SECOND_NS, FakeFeed
from tests.tui.driving import busy, dashboard, screen, shown, until


def test_steps_end_at_both_ends() -> None:
    now, up = SECOND_NS, []
    for _ in STEPS_NS:
        now = next_refresh(now, -1)
        up.append(now)
    assert up[-1] == STEPS_NS[-1]
    for _ in STEPS_NS:
        now = next_refresh(now, 1)
    assert now == STEPS_NS[0]
    assert next_refresh(700_000_000, 1) == 500_000_000
    assert next_refresh(700_000_000, -1) == SECOND_NS


async def test_faster_and_slower() -> None:
    feed = FakeFeed(busy())
    async with dashboard(feed) as (app, pilot):
        await shown(app, pilot)
        await pilot.press("plus")
        assert (app.refresh_ns, feed.interval_ns) == (500_000_000, 500_000_000)
        await pilot.press("minus", "minus")
        assert (app.refresh_ns, feed.interval_ns) == (2 * SECOND_NS, SECOND_NS)
        assert app.state.shown is app.latest
        feed.push(busy(2))
        await until(pilot, lambda: app.latest is not app.state.shown)
        feed.push(busy(3))
        await shown(app, pilot, 3)
        assert app.state.shown is app.latest


async def test_live_it_goes_to_a_time_and_on_from_there() -> None:
    feed = FakeFeed(*(busy(second) for second in range(1, 7)))
    async with dashboard(feed) as (app, pilot):
        await shown(app, pilot, 6)
        await pilot.press("J", *"2.5s", "enter")
        assert app.state.paused
        assert app.state.past_ns == 2 * SECOND_NS
        assert not app.query_one(Jump).has_class("open")
        await pilot.press("J", *"-1s", "enter")
        assert app.state.past_ns == SECOND_NS
        await pilot.press("J", *"10:00", "enter")
        assert "no figures of that time" in screen(app)
        assert app.state.past_ns == SECOND_NS
        await pilot.press("escape")
        assert not app.query_one(Jump).has_class("open")
        await pilot.press("p")
        assert not app.state.paused
