"""Moments that are kept in files, and the last seconds on request."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from noisetop.recording.moment import Figures, KeptMoment
from noisetop.text.sanitize import printable
from noisetop.tui.panels.kept import KeptTable
from noisetop.tui.panels.moments import MomentTable
from tests.builders import FakeFeed
from tests.recordings import HOSTILE
from tests.tui.driving import busy, dashboard, overlay, screen, shown, until

FILES = ("20260102T030417.123456Z-cpu2.noisetop", "20260102T030517.123456Z-cpu3.noisetop")


@dataclass
class FakeSnapshots:
    files: Sequence[str] | None = FILES
    keep_ns: int = 10_000_000_000
    on_message: Callable[[str], object] | None = None
    asked: list[bool] = field(default_factory=list)

    def ask(self) -> None:
        self.asked.append(True)
        assert self.on_message
        self.on_message(f"written: {HOSTILE}")

    def kept(self) -> Sequence[KeptMoment] | None:
        if self.files is None:
            return None
        figures = Figures(2, 5, 3_000_000, 2_900_000, None, ("thread", HOSTILE), HOSTILE, 7)
        return tuple(KeptMoment(n, Path(file), figures) for n, file in enumerate(self.files, 1))


async def test_the_list_of_files_opens_one(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Path] = []
    async with dashboard(FakeFeed(busy()), size=(150, 30)) as (app, pilot):
        await shown(app, pilot)
        app.with_snapshots(FakeSnapshots())
        monkeypatch.setattr(app, "view_file", seen.append)
        await pilot.press("W")
        await until(pilot, lambda: "2.90 ms" in screen(app))
        assert isinstance(overlay(app), KeptTable)
        assert FILES[0] in screen(app)
        assert "\x1b" not in screen(app)
        await pilot.press("down", "enter")
        await until(pilot, lambda: bool(seen))
        assert seen == [Path(FILES[1])]
        await pilot.press("W")
        await until(pilot, lambda: isinstance(overlay(app), MomentTable))


async def test_where_none_are_kept_there_are_the_moments_since_the_start() -> None:
    async with dashboard(FakeFeed(busy())) as (app, pilot):
        await shown(app, pilot)
        app.with_snapshots(FakeSnapshots(files=None))
        await pilot.press("W")
        await until(pilot, lambda: isinstance(overlay(app), MomentTable))


async def test_the_last_seconds_are_written_and_the_file_is_told() -> None:
    snapshots = FakeSnapshots()
    async with dashboard(FakeFeed(busy())) as (app, pilot):
        await shown(app, pilot)
        app.with_snapshots(snapshots)
        await pilot.press("R")
        await until(pilot, lambda: len(app._notifications) == 2)
        assert snapshots.asked == [True]
        told = {one.message for one in app._notifications}
        assert told == {"writing the last 10.0 s", f"written: {printable(HOSTILE)}"}


async def test_without_a_recorder_the_key_says_so() -> None:
    async with dashboard(FakeFeed(busy())) as (app, pilot):
        await shown(app, pilot)
        await pilot.press("R")
        await until(pilot, lambda: bool(app._notifications))
        (told,) = app._notifications
        assert "nothing to write" in told.message
