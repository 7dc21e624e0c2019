"""Which columns tables show."""

from __future__ import annotations

from noisetop.tui.config import config_path, read_config
from noisetop.tui.panels.columns import Columns
from tests.builders import FakeFeed
from tests.tui.driving import busy, dashboard, overlay, screen, shown, until


async def test_columns_are_hidden_and_shown() -> None:
    async with dashboard(FakeFeed(busy()), (120, 30)) as (app, pilot):
        await shown(app, pilot)
        assert "Noise/s" in screen(app)
        await pilot.press("O")
        panel = overlay(app)
        assert isinstance(panel, Columns)
        titles = [row.title for row in panel.rows]
        assert titles[0] == "≈Cost %"
        at = titles.index("Noise/s")
        await pilot.press(*["down"] * at, "enter")
        assert panel.rows[at].hidden
        assert app.hidden_columns == {"noise_ns_per_s"}
        await pilot.press("C")
        await until(pilot, config_path().exists)
        assert read_config(config_path(), ()).hidden == {"noise_ns_per_s"}
        await pilot.press("escape")
        assert "Noise/s" not in screen(app)
        assert "Noise %" in screen(app)
        await pilot.press("O", *["down"] * at, "space", "escape")
        assert "Noise/s" in screen(app)


async def test_a_click_hides_one() -> None:
    async with dashboard(FakeFeed(busy()), (120, 30)) as (app, pilot):
        await shown(app, pilot)
        await pilot.press("O")
        panel = overlay(app)
        assert isinstance(panel, Columns)
        await pilot.click(panel, offset=(4, 2))
        assert [row.title for row in panel.rows if row.hidden] == [panel.rows[1].title]
