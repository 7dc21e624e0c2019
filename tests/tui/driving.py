"""A dashboard to test: fed with samples, its screen as text."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from textual._context import visible_screen_stack
from textual.pilot import Pilot

from noisetop.live.sample import Sample
from noisetop.tui.app import Dashboard
from noisetop.tui.overlay_screen import OverlayScreen
from noisetop.tui.panel import Panel
from noisetop.tui.panels.cpus import CpuTable
from noisetop.tui.panels.sources import SourceTable
from tests.builders import SECOND_NS, START_NS, FakeFeed, cpu, sample, source, summary

TICK = ("timer", "local_timer", "tick_nohz_handler")
DISK = ("irq", "36 virtio1-req.0")
RCU = ("softirq", "RCU")


def busy(seconds: int = 1, **fields: object) -> Sample:
    total = summary(
        cpu(
            1,
            source(*TICK, durations_ns=[2_000] * 250),
            source(*DISK, durations_ns=[40_000], max_start_ns=START_NS + SECOND_NS // 4),
            source("thread", "kworker/1:1", durations_ns=(), idle_count=2, idle_ns=8_000),
        ),
        cpu(2, source(*TICK, durations_ns=[3_000] * 250), source(*RCU, durations_ns=[70_000])),
        duration_ns=seconds * SECOND_NS,
        **fields,  # type: ignore[arg-type]
    )
    interval = summary(
        cpu(1, source(*RCU, durations_ns=[5_000])),
        cpu(2),
        start_ns=total.end_ns - SECOND_NS,
    )
    return sample(total, interval)


@asynccontextmanager
async def dashboard(
    feed: FakeFeed, size: tuple[int, int] = (120, 30), refresh_ns: int | None = None
) -> AsyncIterator[tuple[Dashboard, Pilot[bool]]]:
    app = Dashboard(feed, refresh_ns)
    async with app.run_test(size=size) as pilot:
        yield app, pilot


async def until(pilot: Pilot[bool], condition: Callable[[], bool]) -> None:
    for _ in range(2500):
        if condition():
            await pilot.pause()
            return
        await asyncio.sleep(0.002)
    raise AssertionError("the condition did not come true")


async def shown(app: Dashboard, pilot: Pilot[bool], seconds: int = 1) -> None:
    await until(
        pilot,
        lambda: app.latest is not None and app.latest.total.duration_ns == seconds * SECOND_NS,
    )


def screen(app: Dashboard) -> str:
    width, height = app.size
    visible_screen_stack.set(app._background_screens)  # an overlay lies on them
    lines = app.screen._compositor.render_strips()
    assert len(lines) == height
    assert all(line.cell_length == width for line in lines)
    return "\n".join(line.text for line in lines)


def cpus(app: Dashboard) -> CpuTable:
    return app.screen_stack[0].query_one(CpuTable)


def sources(app: Dashboard) -> SourceTable:
    return app.screen_stack[0].query_one(SourceTable)


def overlay(app: Dashboard) -> Panel[Any] | None:
    """The panel over the main column."""
    return app.screen.panel if isinstance(app.screen, OverlayScreen) else None


def labels(app: Dashboard) -> list[str]:
    return [row.label.split(" › ")[-1] for row in sources(app).rows]
