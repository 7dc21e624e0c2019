"""Where the time went, as an overlay."""

from __future__ import annotations

from dataclasses import replace

from noisetop.tui.panels.victims import Victims
from tests.builders import FakeFeed, cpu, sample, source, summary
from tests.columns.test_victims import victim
from tests.tui.driving import TICK, dashboard, overlay, shown


async def test_a_row_per_victim() -> None:
    period = replace(
        summary(cpu(1, source(*TICK))), victims=(victim(7, contention_ns=250_000_000),)
    )
    async with dashboard(FakeFeed(sample(period)), (120, 30)) as (app, pilot):
        await shown(app, pilot)
        await pilot.press("v")
        await pilot.pause()
        panel = overlay(app)
        assert isinstance(panel, Victims)
        (_, row) = panel.lines(app.state.period)
        assert "25.00%" in row


async def test_without_victims_it_says_so() -> None:
    async with dashboard(FakeFeed(sample(summary(cpu(1))))) as (app, pilot):
        await shown(app, pilot)
        await pilot.press("v")
        await pilot.pause()
        panel = overlay(app)
        assert isinstance(panel, Victims)
        assert list(panel.lines(app.state.period)) == ["no victim ran"]
