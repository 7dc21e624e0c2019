"""The histogram of a source beside all noise."""

from __future__ import annotations

from noisetop.columns.noise import source_rows
from noisetop.tui.panels.histogram import Histogram, bar, octave_rows
from tests.builders import FakeFeed, cpu, sample, source, summary
from tests.tui.driving import DISK, TICK, dashboard, overlay, screen, shown

SHORT, LONG = [1_000] * 990, [100_000] * 10
BUSY = summary(
    cpu(1, source(*TICK, durations_ns=[*SHORT, *LONG]), source(*DISK, durations_ns=[1_500] * 10))
)


def test_counts_by_octave_and_where_percentiles_lie() -> None:
    row = next(one for one in source_rows(BUSY, BUSY.cpus[0]) if one.source.source.path == TICK)
    rows = {one.least_ns: one for one in octave_rows(row, BUSY.cpus[0])}
    assert min(rows) == 512
    assert max(rows) == 65_536
    assert sum(one.count for one in rows.values()) == 1_000
    assert sum(one.of_all for one in rows.values()) == 1_010
    assert (rows[512].count, rows[512].of_all, rows[512].marks) == (990, 990, "p50 p99")
    assert (rows[1024].count, rows[1024].of_all, rows[1024].marks) == (0, 10, "")
    assert (rows[65_536].count, rows[65_536].marks) == (10, "p99.9 max")


def test_the_source_is_a_part_of_the_bar_of_all() -> None:
    for mine, every in ((0, 0), (0, 5), (1, 1_000_000), (1_000_000, 1_000_000)):
        text = bar(mine, every, 1_000_000, 30)
        assert len(text) == 30
        assert ("█" in text) is bool(mine)
        assert ("░" in text) is (mine < every)
    assert bar(1_000_000, 1_000_000, 1_000_000, 30) == "█" * 30


async def test_it_is_opened_on_a_source_by_its_key_alone() -> None:
    async with dashboard(FakeFeed(sample(BUSY, BUSY)), (80, 24)) as (app, pilot):
        await shown(app, pilot)
        await pilot.press("H")
        assert isinstance(overlay(app), Histogram)
        text = screen(app)
        assert "all CPUs → " in text
        assert "→ histogram" in text
        assert "p99.9" in text
        await pilot.press("H")
        assert overlay(app) is None
        await pilot.press("enter")
        assert not isinstance(overlay(app), Histogram)
