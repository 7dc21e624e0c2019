"""The triggers of a source, in its table and in the overlay."""

from __future__ import annotations

from dataclasses import replace

import pytest

from noisetop.events.task_directory import TaskDirectory
from noisetop.events.task_names import TaskInfo
from noisetop.events.trigger import Trigger
from noisetop.live.sample import Sample
from noisetop.summary.trigger_totals import TriggerSummary
from noisetop.tui.panels.triggers import TriggerTable
from tests.builders import SECOND_NS, FakeFeed, cpu, sample, source, summary
from tests.tui.driving import RCU, dashboard, overlay, screen, shown, until


def _caused(seconds: int = 1) -> Sample:
    triggers = (
        TriggerSummary(Trigger("\x1b[2Jsender", 7, cpu=3), 2, 60_000 * seconds, 40_000),
        TriggerSummary(Trigger(), 1, 20_000, 20_000),
    )
    one = source("ipi", "x", durations_ns=[80_000] * seconds, triggers=triggers)
    return sample(summary(cpu(1, one, source(*RCU)), duration_ns=seconds * SECOND_NS))


@pytest.mark.parametrize("key", ["b", "enter"])
async def test_who_caused_a_source_in_a_panel_that_goes_on(key: str) -> None:
    feed = FakeFeed(_caused())
    async with dashboard(feed, (130, 30)) as (app, pilot):
        await shown(app, pilot)
        assert "\\x1b[2Jsender 7 on CPU 3" in screen(app)
        await pilot.press(key)
        table = overlay(app)
        assert isinstance(table, TriggerTable)
        await until(pilot, lambda: bool(table.rows))
        assert [row.label for row in table.rows] == ["\\x1b[2Jsender 7 on CPU 3", "unknown"]
        assert "75.00%" in screen(app)
        feed.push(_caused(2))
        await shown(app, pilot, 2)
        assert [row.part.net_ns for row in table.rows] == [120_000, 20_000]
        await pilot.press("escape")
        assert not isinstance(overlay(app), TriggerTable)


async def test_a_thread_is_told_apart_from_who_woke_it() -> None:
    ran = TriggerSummary(Trigger(tid=10), 1, 80_000, 80_000)
    woke = TriggerSummary(Trigger("redis-cli", 20, cpu=3), 1, 80_000, 80_000)
    one = replace(source("thread", "redis", durations_ns=[80_000], triggers=(woke,)), tasks=(ran,))
    infos = {tid: TaskInfo(tid, 1, False, 0) for tid in (10, 20)}
    who = TaskDirectory({10: "redis", 20: "redis-cli"}, infos)
    feed = FakeFeed(sample(replace(summary(cpu(1, one)), directory=who)))
    async with dashboard(feed, (130, 30)) as (app, pilot):
        await shown(app, pilot)
        assert "woken by redis-cli 20" in screen(app)
        await pilot.press("b")
        table = overlay(app)
        assert isinstance(table, TriggerTable)
        await until(pilot, lambda: bool(table.rows))
        assert {row.label for row in table.rows} == {"redis 10", "woken by redis-cli 20 on CPU 3"}


async def test_who_caused_it_stays_out_of_80_columns() -> None:
    async with dashboard(FakeFeed(_caused()), (80, 24)) as (app, pilot):
        await shown(app, pilot)
        assert "sender" not in screen(app)
        assert "80.0 µs" in screen(app)
