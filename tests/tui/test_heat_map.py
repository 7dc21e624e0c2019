"""The heat map, live and over a recording: what it shows, and where Enter leads."""

from __future__ import annotations

import pytest
from textual.pilot import Pilot

from noisetop.live.noise_columns import OCTAVES, NoiseColumns, noise_column
from noisetop.machine.topology import CpuPlace
from noisetop.tui.app import Dashboard
from noisetop.tui.heat_rows import heat_rows
from noisetop.tui.panels.heat_map import HeatMap
from tests.builders import FakeFeed, cpu, growing, source, summary
from tests.tui.driving import (
    DISK,
    RCU,
    TICK,
    cpus,
    dashboard,
    labels,
    overlay,
    screen,
    shown,
    until,
)
from tests.tui.test_playback import opened_noisy, shows


async def open_map(app: Dashboard, pilot: Pilot[bool]) -> HeatMap:
    await pilot.press("m")
    await until(pilot, lambda: isinstance(overlay(app), HeatMap))
    await pilot.pause()
    panel = overlay(app)
    assert isinstance(panel, HeatMap)
    return panel


async def test_a_column_for_each_sample_and_the_culprit_below_the_cursor() -> None:
    samples = growing((1, 2), [TICK, DISK], 3)
    async with dashboard(FakeFeed(*samples), (100, 20)) as (app, pilot):
        await shown(app, pilot, 3)
        await open_map(app, pilot)
        text = screen(app)
        assert "CPU 1" in text
        assert "CPU 2" in text
        assert "CPU 1 at 00:02  " in text
        assert "mostly irq › 36 virtio1-req.0" in text
        await pilot.press("down", "left")
        await pilot.pause()
        assert "CPU 2 at 00:01  " in screen(app)
        await pilot.press("l")
        await pilot.pause()
        assert "net times on CPU 2" in screen(app)
        assert "≥512 ns" in screen(app)
        await pilot.press("l", "m")
        assert overlay(app) is None


@pytest.mark.usefixtures("each_change_is_drawn")
async def test_it_goes_on_with_the_samples_column_by_column(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    samples = growing((1,), [TICK], 6)
    feed = FakeFeed(*samples[:2])
    async with dashboard(feed, (100, 20)) as (app, pilot):
        await shown(app, pilot, 2)
        panel = await open_map(app, pilot)
        drawn: list[bool] = []
        whole = panel._draw_all

        def counted() -> None:
            drawn.append(True)
            whole()

        monkeypatch.setattr(panel, "_draw_all", counted)
        for number in range(2, 6):
            feed.push(samples[number])
            await shown(app, pilot, number + 1)
        await pilot.pause()
        assert "at 00:05" in screen(app)
        assert drawn == []


async def test_enter_shows_the_cpu_and_the_second_and_p_goes_on() -> None:
    samples = growing((1, 2), [TICK, DISK, RCU], 4)
    async with dashboard(FakeFeed(*samples), (120, 30)) as (app, pilot):
        await shown(app, pilot, 4)
        await open_map(app, pilot)
        await pilot.press("down", "left", "left", "enter")
        await until(pilot, lambda: overlay(app) is None)
        text = screen(app)
        assert "1.00 s from 00:00:01  PAUSED" in text
        assert "CPU 2 → sources by" in text
        assert app.state.shown is not None
        assert app.state.shown.total == samples[1].interval
        await pilot.press("p")
        assert "since start 00:00:04" in screen(app)


async def test_what_it_hides_is_drawn_when_it_closes() -> None:
    samples = growing((1,), [TICK], 5)
    feed = FakeFeed(*samples[:2])
    async with dashboard(feed, (100, 20)) as (app, pilot):
        await shown(app, pilot, 2)
        await open_map(app, pilot)
        feed.push(*samples[2:])
        await shown(app, pilot, 5)
        assert cpus(app).rows[0].cpu.count == samples[1].total.cpus[0].count
        await pilot.press("escape")
        await until(pilot, lambda: "since start 00:00:05" in screen(app))
        assert cpus(app).rows[0].cpu.count == samples[4].total.cpus[0].count


async def test_a_period_whose_figures_are_gone() -> None:
    samples = growing((1, 2), [TICK], 4)
    async with dashboard(FakeFeed(*samples), (120, 30)) as (app, pilot):
        await shown(app, pilot, 4)
        await open_map(app, pilot)
        app._past.clear()
        await pilot.press("left", "enter")
        await pilot.pause()
        assert "the figures of this period are gone" in screen(app)
        assert isinstance(overlay(app), HeatMap)


async def test_over_a_recording_enter_goes_to_the_period() -> None:
    async with opened_noisy() as (app, pilot, _feed):
        await open_map(app, pilot)
        await pilot.press("home", "right", "right", "down")
        await pilot.pause()
        assert "CPU 1 at 00:00.04" in screen(app)
        await pilot.press("enter")
        await shows(app, pilot, lambda at: (at.first, at.until) == (2, 3))
        assert "CPU 1 → sources by" in screen(app)
        assert len(labels(app)) > 3


async def test_a_click_puts_the_cursor_and_a_double_click_shows() -> None:
    async with opened_noisy() as (app, pilot, _feed):
        panel = await open_map(app, pilot)
        await pilot.click(HeatMap, offset=(10 + 3 * panel._window.width, 0))
        await pilot.pause()
        assert "CPU 0 at 00:00.06" in screen(app)
        await pilot.click(HeatMap, offset=(10 + 4 * panel._window.width, 0), times=2)
        await shows(app, pilot, lambda at: at.first == 4)
        assert overlay(app) is None


@pytest.mark.parametrize(
    ("size", "count"),
    [
        pytest.param(size, count, marks=() if count in shown else pytest.mark.thorough)
        for size, shown in (
            ((60, 16), (40,)),
            ((80, 24), (1,)),
            ((300, 80), (200,)),
            ((12, 6), (40,)),
        )
        for count in (1, 40, 200)
    ],
)
async def test_sizes(size: tuple[int, int], count: int) -> None:
    async with dashboard(FakeFeed(*growing(range(count), [TICK], 2)), size) as (app, pilot):
        await shown(app, pilot, 2)
        await open_map(app, pilot)
        await pilot.press(*["down"] * 3, "l", "l", "end")
        await pilot.pause()
        screen(app)  # checks the width of every line


def test_rows_are_grouped_by_what_cpus_share() -> None:
    places = {one: CpuPlace(one % 2, 0, "0-3", one // 4) for one in range(8)}
    rows = heat_rows(range(8), places, 100, halves=True)
    assert [row.label for row in dict.fromkeys(rows)] == [
        "package 0, node 0, cache 0-3", "0", "2", "4", "6",
        "package 1, node 0, cache 0-3", "1", "3", "5", "7",
    ]  # fmt: skip
    halves = heat_rows(range(8), places, 7, halves=True)
    assert [row.cpus for row in halves if row.cpus] == [(0, 2), (4, 6), (1, 3), (5, 7)]
    whole = heat_rows(range(8), places, 7, halves=False)
    assert [len(row.cpus) for row in whole if row.cpus] == [1] * 8


def test_columns_are_bounded_and_count_what_is_external() -> None:
    columns = NoiseColumns(kept=3)
    lengths = [100, 300, 5_000, 3_000_000_000]
    one = noise_column(summary(cpu(1, source(*DISK, durations_ns=lengths)), cpu(2)))
    for _ in range(5):
        columns.append(one)
    assert (columns.first, columns.newest) == (2, 4)
    assert columns.get(1) is None
    counts = one.cells[1].counts
    assert (len(counts), counts.sum()) == (OCTAVES, 4)
    assert (counts[0], counts[1], counts[5], counts[-1]) == (1, 1, 1, 1)
    assert one.cells[2].counts.sum() == 0
    assert one.cells[1].path == DISK
